/**
 * A relay in a process of its own, to be killed. It hands messages to a receiver with an inbox: what a message does, and that it was done, commit together.
 *
 * @module
 */
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { Pool } from 'pg';
import { runOnce, storeLeases } from '../../src/index.ts';
import { relayLoop } from '../../src/outbox/loop.ts';
import type { RelayOptions } from '../../src/outbox/options.ts';
import type { RelayedMessage } from '../../src/outbox/port.ts';
import { commitWith, dynamodbOutbox, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { postgresOutbox } from '../../src/stores/postgres/outbox.ts';
import { postgresStore } from '../../src/stores/postgres/store.ts';
import { takeOnce } from '../../src/stores/postgres/take-once.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { COUNTER, LEASE_MS, type Numbered, type RelayTask, TABLES } from './relay-task.ts';

function onPostgres(url: string): Pick<RelayOptions, 'outbox' | 'leases' | 'deliver'> {
  const pool = new Pool({ connectionString: url, max: 8 });
  return {
    outbox: postgresOutbox({ pool }),
    leases: storeLeases(postgresStore({ pool })),
    deliver: ({ id, key, payload }) =>
      inTransaction(pool, {}, async (tx) => {
        await tx.query('INSERT INTO deliveries (message) VALUES ($1)', [id]);
        if (!(await takeOnce(tx, { operation: 'effects/apply', key: id }))) return;
        // Nothing here would refuse the same message twice, but the inbox.
        await tx.query('INSERT INTO effects (message, key, n) VALUES ($1, $2, $3)', [id, key, (payload as Numbered).n]);
      }),
  };
}

function onDynamodb(endpoint: string): Pick<RelayOptions, 'outbox' | 'leases' | 'deliver'> {
  const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  const store = dynamodbStore({ client, tableName: TABLES.records });
  const apply = async ({ id, key, payload }: RelayedMessage): Promise<unknown> => {
    const count = { UpdateExpression: 'ADD deliveries :one', ExpressionAttributeValues: { ':one': { N: '1' } } };
    await client.send(new UpdateItemCommand({ TableName: TABLES.effects, Key: { id: { S: COUNTER } }, ...count }));
    return runOnce({ store, operation: 'effects/apply', key: id, leaseMs: LEASE_MS, onInFlight: { waitMs: 10_000 } }, (run) => {
      const update = {
        TableName: TABLES.effects,
        Key: { id: { S: key ?? '' } },
        UpdateExpression: 'SET applied = list_append(if_not_exists(applied, :none), :one)',
        ExpressionAttributeValues: { ':none': { L: [] }, ':one': { L: [{ S: `${(payload as Numbered).n} ${id}` }] } },
      };
      return commitWith(run, true, [{ Update: update }]);
    });
  };
  return { outbox: dynamodbOutbox({ client, tableName: TABLES.outbox }), leases: storeLeases(store), deliver: apply };
}

const task = JSON.parse(process.argv[2] ?? '{}') as RelayTask;
const relay = task.kind === 'postgres' ? onPostgres(task.url) : onDynamodb(task.endpoint);

// A parent that was killed closes our stdin: nothing stays behind.
process.stdin.once('close', () => process.exit(0)).resume();

await relayLoop({
  ...relay,
  leaseMs: LEASE_MS,
  everyMs: 15,
  batchSize: 50,
  concurrency: 6,
  backoff: { firstMs: 50, mostMs: 200 },
  maxAttempts: 1_000,
  deliver(message, call) {
    process.stdout.write('.');
    return relay.deliver(message, call);
  },
  // Two lives of it share a machine with everything else: leases are lost, and that must do no harm.
  onError: () => {},
});
