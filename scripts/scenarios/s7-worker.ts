/**
 * S7: an instance that takes orders: the order's row and the record of the run in one transaction.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { type RecordStore, runOnce } from '../../src/index.ts';
import { serve } from '../demo/calls.ts';
import { gate } from '../support/gate.ts';
import { type At, dynamodbAt, placeGiven, poolAt, storeReady, tableAt } from './place.ts';

interface Take {
  readonly orderId: string;
  readonly waits?: boolean;
}

interface Taker {
  take(order: Take): Promise<string>;
  takePlain?(order: Take): Promise<void>;
  /** The order's rows, and the states of all records. */
  look(order: Take): Promise<{ rows: number; records: string[] }>;
}

const OPERATION = 'orders/take';
const LEASE_MS = 5_000;
const signal = gate();

async function atWork({ waits = false }: Take): Promise<void> {
  log('at work');
  if (waits) await signal.opened;
}

async function statesIn(store: RecordStore): Promise<string[]> {
  const states: string[] = [];
  for await (const { record } of store.list({ operation: OPERATION })) states.push(record.state);
  return states.sort();
}

async function inPostgres(place: At<'postgres'>): Promise<Taker> {
  const { runInTransaction } = await import('../../src/stores/postgres/index.ts');
  const [pool, store] = [await poolAt(place), await storeReady(place)];
  const insert = 'INSERT INTO orders (order_id, receipt) VALUES ($1, $2)';
  return {
    take: (order) =>
      runInTransaction({ pool, operation: OPERATION, key: order.orderId, waitMs: 30_000 }, async (tx) => {
        const receipt = randomUUID();
        await tx.query(insert, [order.orderId, receipt]);
        await atWork(order);
        return receipt;
      }),
    async takePlain(order) {
      await atWork(order);
      await pool.query(insert, [order.orderId, randomUUID()]);
    },
    async look({ orderId }) {
      const { rowCount } = await pool.query('SELECT FROM orders WHERE order_id = $1', [orderId]);
      return { rows: rowCount ?? 0, records: await statesIn(store) };
    },
  };
}

async function inDynamodb(place: At<'dynamodb'>): Promise<Taker> {
  const { commitWith } = await import('../../src/stores/dynamodb/index.ts');
  const { ScanCommand } = await import('@aws-sdk/client-dynamodb');
  const [client, store] = [await dynamodbAt(place), await storeReady(place)];
  const { tableName: TableName } = place;
  return {
    take: (order) =>
      runOnce({ store, operation: OPERATION, key: order.orderId, leaseMs: LEASE_MS }, async (run) => {
        const receipt = randomUUID();
        await atWork(order);
        await commitWith(run, receipt, [{ Put: { TableName, Item: { id: { S: `order/${receipt}` }, orderId: { S: order.orderId } } } }]);
        return receipt;
      }),
    async look({ orderId }) {
      const filter = { FilterExpression: 'orderId = :id', ExpressionAttributeValues: { ':id': { S: orderId } } };
      const { Count = 0 } = await client.send(new ScanCommand({ TableName, ConsistentRead: true, ...filter }));
      return { rows: Count, records: await statesIn(store) };
    },
  };
}

async function inTable(place: At<'azure-tables'>): Promise<Taker> {
  const { commitWith, tableStore } = await import('../../src/stores/azure-tables/index.ts');
  const client = await tableAt(place);
  const partitionKey = 'orders';
  const store = tableStore({ client }).inPartition(partitionKey);
  return {
    take: (order) =>
      runOnce({ store, operation: OPERATION, key: order.orderId, leaseMs: LEASE_MS }, async (run) => {
        const receipt = randomUUID();
        await atWork(order);
        await commitWith(run, receipt, [['create', { partitionKey, rowKey: `order-${receipt}`, orderId: order.orderId }]]);
        return receipt;
      }),
    async look({ orderId }) {
      let rows = 0;
      for await (const _ of client.listEntities({ queryOptions: { filter: `orderId eq '${orderId}'` } })) rows += 1;
      return { rows, records: await statesIn(store) };
    },
  };
}

const place = placeGiven('postgres', 'dynamodb', 'azure-tables');
const taker = await (place.kind === 'postgres' ? inPostgres(place) : place.kind === 'dynamodb' ? inDynamodb(place) : inTable(place));

const { log } = serve({
  take: (order: Take) => taker.take(order),
  takePlain: async (order: Take) => taker.takePlain?.(order),
  look: (order: Take) => taker.look(order),
  goOn: async () => signal.open(),
});
