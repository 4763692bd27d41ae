/**
 * S8: an instance that takes orders and tells of them, the relay, and the receiver.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { runOnce, storeLeases } from '../../src/index.ts';
import { type OutboxPlace, type RelayedMessage, relayOutbox } from '../../src/stores/dynamodb/index.ts';
import { serve } from '../demo/calls.ts';
import { charge as mail } from './far-side.ts';
import { type At, dynamodbAt, placeGiven, poolAt, storeReady } from './place.ts';

interface Order {
  readonly orderId: string;
  readonly waits?: 'before the commit' | 'after the commit';
}

interface Shop {
  readonly outbox: OutboxPlace;
  take(order: Order): Promise<string>;
  /** The receiver: makes a mail of each message once, whatever comes how often. */
  receive(message: RelayedMessage): Promise<void>;
  count(what: 'order' | 'mail'): Promise<number>;
}

const RELAY_LEASE_MS = 5_000;
const forEver = (): Promise<never> => new Promise(() => {});
const messageOf = ({ orderId }: Order) => ({ topic: 'orders/placed', key: 'customer-1', payload: { orderId } });

async function hang(order: Order, at: Order['waits']): Promise<void> {
  if (order.waits !== at) return;
  log(`hangs ${at}`);
  await forEver();
}

async function inPostgres(place: At<'postgres'>): Promise<Shop> {
  const { postgresOutbox, runInTransaction } = await import('../../src/stores/postgres/index.ts');
  const pool = await poolAt(place);
  return {
    outbox: postgresOutbox({ pool }),
    take: (order) =>
      runInTransaction({ pool, operation: 'orders/take', key: order.orderId }, async (tx, run) => {
        await tx.query("INSERT INTO things (what, id) VALUES ('order', $1)", [order.orderId]);
        const id = run.outbox.add(messageOf(order));
        await hang(order, 'before the commit');
        return id;
      }),
    receive: (message) =>
      runInTransaction({ pool, operation: 'mails/send', key: message.id }, async (tx) => {
        await tx.query("INSERT INTO things (what, id) VALUES ('mail', $1)", [message.id]);
      }),
    count: async (what) => (await pool.query('SELECT FROM things WHERE what = $1', [what])).rowCount ?? 0,
  };
}

async function inDynamodb({ outboxTable, ...place }: At<'dynamodb'> & { readonly outboxTable: string }): Promise<Shop> {
  const { commitWith, dynamodbOutbox, dynamodbStore } = await import('../../src/stores/dynamodb/index.ts');
  const { ScanCommand } = await import('@aws-sdk/client-dynamodb');
  const client = await dynamodbAt(place);
  const { tableName: TableName } = place;
  const store = dynamodbStore({ client, tableName: TableName, outboxTable });
  const thing = (what: 'order' | 'mail') => ({ Put: { TableName, Item: { id: { S: `${what}/${randomUUID()}` }, what: { S: what } } } });
  return {
    outbox: dynamodbOutbox({ client, tableName: outboxTable }),
    take: (order) =>
      runOnce({ store, operation: 'orders/take', key: order.orderId, leaseMs: 5_000 }, async (run) => {
        const id = run.outbox.add(messageOf(order));
        await hang(order, 'before the commit');
        await commitWith(run, id, [thing('order')]);
        return id;
      }),
    receive: (message) =>
      runOnce({ store, operation: 'mails/send', key: message.id }, async (run) => {
        await commitWith(run, undefined, [thing('mail')]);
      }),
    async count(what) {
      const filter = { FilterExpression: 'what = :what', ExpressionAttributeValues: { ':what': { S: what } } };
      const { Count = 0 } = await client.send(new ScanCommand({ TableName, ConsistentRead: true, ...filter }));
      return Count;
    },
  };
}

const place = placeGiven('postgres', 'dynamodb');
const store = await storeReady(place);
const shop = await (place.kind === 'postgres' ? inPostgres(place) : inDynamodb(place as At<'dynamodb'> & { outboxTable: string }));

const { log } = serve({
  async take(order: Order): Promise<string> {
    const id = await shop.take(order);
    await hang(order, 'after the commit');
    return id;
  },

  async commitThenMail({ orderId }: Order) {
    const pool = await poolAt(place as At<'postgres'>);
    await pool.query("INSERT INTO things (what, id) VALUES ('order', $1)", [orderId]);
    log('between the two');
    await forEver();
    await mail({ orderId, amount: 0 }, randomUUID());
  },

  async mailThenCommit({ orderId }: Order) {
    const client = await (await poolAt(place as At<'postgres'>)).connect();
    await client.query('BEGIN');
    await client.query("INSERT INTO things (what, id) VALUES ('order', $1)", [orderId]);
    await mail({ orderId, amount: 0 }, randomUUID());
    log('between the two');
    await forEver();
    await client.query('COMMIT');
  },

  /** `hangs`: as soon as one message is delivered, and before that is written down. */
  async relay({ hangs = false }: { hangs?: boolean }): Promise<{ kind: string; delivered?: number; orders: string[]; ids: string[] } | string> {
    const told: RelayedMessage[] = [];
    const { outbox } = shop;
    const result = await relayOutbox({
      outbox,
      leases: storeLeases(store),
      leaseMs: RELAY_LEASE_MS,
      async deliver(message) {
        await shop.receive(message);
        told.push(message);
        log(`delivered ${message.id}`);
        if (hangs) await forEver();
      },
    });
    if (result.kind === 'held') return 'held';
    const orders = told.map(({ payload }) => (payload as { orderId: string }).orderId);
    return { kind: result.kind, delivered: result.delivered, orders, ids: told.map(({ id }) => id) };
  },

  look: async () => ({ orders: await shop.count('order'), waiting: await shop.outbox.waiting(), mails: await shop.count('mail') }),
});
