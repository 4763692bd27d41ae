/**
 * Stores with rows of a business beside their records, as `commitWith` writes both.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { type DynamoDBClient, GetItemCommand, PutItemCommand, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { RestError, TableClient, type TransactionAction } from '@azure/data-tables';
import type { RecordStore } from '../../src/core/ports.ts';
import type { Run } from '../../src/index.ts';
import { commitWith as commitTable, tableStore } from '../../src/stores/azure-tables/index.ts';
import { commitWith as commitDynamodb, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { commitWith as commitSqlite, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { startAzurite } from '../support/azurite.ts';
import { startDynamoDbLocal } from '../support/dynamodb.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from '../support/proxy.ts';
import { databaseFolder } from '../support/sqlite-file.ts';
import { plainTable } from '../unit/stores/dynamodb-subject.ts';

export interface CommitPlace {
  /** Not through the proxy. */
  readonly store: RecordStore;
  /** Writes the row once more in one transaction with the completion; `onlyNew`: fails where it stands. */
  commit(run: Run, value: unknown, row: string, how?: { onlyNew?: boolean; signal?: AbortSignal }): Promise<void>;
  /** With anything at all. */
  commitRaw(run: Run, value: unknown, items: unknown, options?: unknown): Promise<void>;
  /** Outside of any run. */
  write(row: string): Promise<unknown>;
  /** How often the row was written; on Table Storage, which cannot count, 1 where it stands. */
  times(row: string): Promise<number>;
  /** What the service, and nobody else, says of a row that stands. */
  isTaken(error: unknown): boolean;
  readonly wire?: Wire;
  stop(): Promise<void>;
}

export interface Wire {
  readonly proxy: FaultProxy;
  /** Over the same table, through the proxy; a new client each time. */
  open(): RecordStore;
  isTransaction(request: Pick<ProxiedRequest, 'path' | 'headers'>): boolean;
}

export async function dynamodbPlace(): Promise<CommitPlace & { wire: Wire; plain: DynamoDBClient; tableName: string; TableName: string }> {
  const emulator = await startDynamoDbLocal();
  const proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
  const plain = emulator.client();
  const tableName = `t-${randomUUID()}`;
  const store = dynamodbStore({ client: plain, tableName });
  await store.setUp();
  const TableName = await plainTable(plain);
  const wire: Wire = {
    proxy,
    open: () => dynamodbStore({ client: emulator.client({ endpoint: proxy.url }), tableName, requestTimeoutMs: 2_000 }),
    isTransaction: ({ headers }) => String(headers['x-amz-target']).endsWith('.TransactWriteItems'),
  };
  const stop = async (): Promise<void> => {
    await proxy.stop();
    await emulator.stop();
  };
  return { store, wire, plain, tableName, TableName, ...dynamodbRows(plain, TableName), stop };
}

export function dynamodbRows(client: DynamoDBClient, TableName: string): Omit<CommitPlace, 'store' | 'wire' | 'stop'> {
  return {
    commit(run, value, row, { onlyNew = false, signal } = {}) {
      const Update = {
        TableName,
        Key: { id: { S: row } },
        UpdateExpression: 'ADD n :one',
        ExpressionAttributeValues: { ':one': { N: '1' } },
        ...(onlyNew && { ConditionExpression: 'attribute_not_exists(id)' }),
      };
      return commitDynamodb(run, value, [{ Update }], signal && { signal });
    },
    commitRaw: (run, value, items, options) => commitDynamodb(run, value, items as never, options as never),
    write: (row) => client.send(new PutItemCommand({ TableName, Item: { id: { S: row }, n: { N: '1' } } })),
    times: async (row) =>
      Number((await client.send(new GetItemCommand({ TableName, Key: { id: { S: row } }, ConsistentRead: true }))).Item?.n?.N ?? 0),
    isTaken: (error) =>
      error instanceof TransactionCanceledException && error.CancellationReasons?.map(({ Code }) => Code).join() === 'ConditionalCheckFailed,None',
  };
}

export async function tablePlace(): Promise<CommitPlace & { wire: Wire }> {
  const azurite = await startAzurite({ services: ['table'] });
  const proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.tableUrl).port) });
  const tableName = `t${randomUUID().replaceAll('-', '')}`;
  const clientAt = (url: string): TableClient =>
    TableClient.fromConnectionString(
      azurite.connectionString.replace(/TableEndpoint=[^;]+/, `TableEndpoint=${url}/${azurite.accountName}`),
      tableName,
      {
        allowInsecureConnection: true,
        retryOptions: { maxRetries: 1, retryDelayInMs: 10, maxRetryDelayInMs: 20 },
      },
    );
  const partitionKey = 'customer-7';
  const plain = TableClient.fromConnectionString(azurite.connectionString, tableName, { allowInsecureConnection: true });
  const whole = tableStore({ client: plain });
  await whole.setUp();
  const entity = (row: string) => ({ partitionKey, rowKey: row });
  return {
    store: whole.inPartition(partitionKey),
    wire: {
      proxy,
      open: () => tableStore({ client: clientAt(proxy.url), requestTimeoutMs: 2_000 }).inPartition(partitionKey),
      isTransaction: ({ path }) => path.includes('$batch'),
    },
    commit: (run, value, row, { signal } = {}) => commitTable(run, value, [['create', entity(row)] as TransactionAction], signal && { signal }),
    commitRaw: (run, value, items, options) => commitTable(run, value, items as never, options as never),
    write: (row) => plain.createEntity(entity(row)),
    async times(row) {
      const found = await plain.getEntity(partitionKey, row).catch((error: RestError) => error.statusCode);
      return found === 404 ? 0 : 1;
    },
    isTaken: (error) => error instanceof RestError && error.statusCode === 409,
    async stop() {
      await proxy.stop();
      await azurite.stop();
    },
  };
}

export async function sqlitePlace(): Promise<CommitPlace> {
  const { path, remove } = await databaseFolder();
  const store = sqliteStore({ path, maxRecordBytes: 1_048_576 });
  await store.setUp();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 5000; CREATE TABLE line (row TEXT NOT NULL, only TEXT UNIQUE) STRICT');
  return {
    store,
    commit: (run, value, row, { onlyNew = false, signal } = {}) =>
      commitSqlite(run, value, (db) => db.prepare('INSERT INTO line VALUES (?, ?)').run(row, onlyNew ? row : null), signal && { signal }),
    commitRaw: (run, value, items, options) => commitSqlite(run, value, items as never, options as never),
    write: async (row) => database.prepare('INSERT INTO line VALUES (?, ?)').run(row, row),
    times: async (row) => (database.prepare('SELECT count(*) AS n FROM line WHERE row = ?').get(row) as { n: number }).n,
    isTaken: (error) => (error as { code?: string }).code === 'ERR_SQLITE_ERROR' && /UNIQUE/.test((error as Error).message),
    async stop() {
      database.close();
      await store.close();
      await remove();
    },
  };
}
