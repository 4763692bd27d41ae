/**
 * A store on an emulator or in a file, and a counter beside it that only fenced writes may change: as several processes reach them.
 *
 * @module
 */
import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { Pool } from 'pg';
import type { Fence, RecordStore } from '../../src/core/ports.ts';
import { fencedClaim, fencedUpsert, tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore, fencedPut, fencedUpdate } from '../../src/stores/dynamodb/index.ts';
import * as postgres from '../../src/stores/postgres/index.ts';
import type { Queryable } from '../../src/stores/postgres/query.ts';
import { fencedTransaction, sqliteStore } from '../../src/stores/sqlite/index.ts';

/** Plain JSON: handed to each process. */
export type Place =
  | { readonly kind: 'azure-tables'; readonly connectionString: string; readonly tableName: string }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  /** `byRow`: the counter keeps a token of its own. Otherwise the lease's row is asked. */
  | { readonly kind: 'postgres'; readonly url: string; readonly byRow?: boolean };

export interface Counter {
  /** Keeps lower tokens out from now on, and reads. */
  claim(fence: Fence): Promise<number>;
  write(fence: Fence, n: number): Promise<unknown>;
  read(): Promise<number>;
}

export interface Opened {
  readonly store: RecordStore;
  readonly counter: Counter;
  close(): void;
}

export function openPlace(place: Place): Opened {
  switch (place.kind) {
    case 'azure-tables':
      return openTable(place);
    case 'dynamodb':
      return openDynamodb(place);
    case 'sqlite':
      return openSqlite(place);
    case 'postgres':
      return openPostgres(place);
  }
}

function openTable({ connectionString, tableName }: Extract<Place, { kind: 'azure-tables' }>): Opened {
  const client = TableClient.fromConnectionString(connectionString, tableName, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 2, retryDelayInMs: 50, maxRetryDelayInMs: 200 },
  });
  const keys = { partitionKey: 'witness', rowKey: 'counter' };
  return {
    store: tableStore({ client }),
    counter: {
      claim: async (fence) => (await fencedClaim<{ n?: number }>(client, fence, keys)).entity?.n ?? 0,
      write: (fence, n) => fencedUpsert(client, fence, { ...keys, n }),
      read: async () => (await client.getEntity<{ n: number }>(keys.partitionKey, keys.rowKey)).n,
    },
    close: () => {},
  };
}

function openDynamodb({ endpoint, tableName: TableName }: Extract<Place, { kind: 'dynamodb' }>): Opened {
  const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  const Key = { id: { S: 'the counter' } };
  return {
    store: dynamodbStore({ client, tableName: TableName }),
    counter: {
      claim: async (fence) => Number((await fencedUpdate(client, fence, { TableName, Key, ReturnValues: 'ALL_NEW' })).Attributes?.n?.N ?? 0),
      write: (fence, n) => fencedPut(client, fence, { TableName, Item: { ...Key, n: { N: String(n) } } }),
      read: async () => Number((await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item?.n?.N),
    },
    close: () => client.destroy(),
  };
}

function openSqlite({ path }: Extract<Place, { kind: 'sqlite' }>): Opened {
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS counter (n INTEGER) STRICT; PRAGMA busy_timeout = 0',
  );
  const read = (): number => (database.prepare('SELECT n FROM counter').get() as { n: number } | undefined)?.n ?? 0;
  const store = sqliteStore({ path });
  return {
    store,
    counter: {
      claim: (fence) => fencedTransaction(database, fence, read),
      write: (fence, n) => fencedTransaction(database, fence, (db) => db.exec(`DELETE FROM counter; INSERT INTO counter VALUES (${n})`)),
      read: async () => read(),
    },
    close() {
      database.close();
      void store.close();
    },
  };
}

function openPostgres({ url, byRow = false }: Extract<Place, { kind: 'postgres' }>): Opened {
  // Whoever is done, and closes nothing, ends by itself.
  const pool = new Pool({ connectionString: url, max: 3, allowExitOnIdle: true });
  // Of idle connections, when the server goes down.
  pool.on('error', () => {});
  const own = postgres.postgresStore({ connectionString: url });
  const row = { table: 'counter', key: { id: 1 } };
  const read = async (from: Queryable): Promise<number> => Number((await from.query('SELECT n FROM counter')).rows[0]?.n ?? 0);
  const add = (tx: postgres.Transaction, n: number, fence?: Fence) =>
    postgres.upsert(tx, { table: row.table, key: ['id'], rows: [{ id: 1, n }], ...(fence === undefined ? {} : { fence }) });
  return {
    store: {
      ...own,
      async setUp() {
        await own.setUp();
        // Two that make a table at once fail, in spite of IF NOT EXISTS.
        await pool.query(
          'BEGIN; SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS counter (id int PRIMARY KEY, n bigint, fence bigint); INSERT INTO counter VALUES (1, 0) ON CONFLICT DO NOTHING; COMMIT',
        );
      },
    },
    counter: byRow
      ? {
          claim: async (fence) => Number((await postgres.fencedClaim<{ n: string }>(pool, { ...row, fence }))?.n),
          write: (fence, n) => postgres.runInTransaction({ pool, operation: 'count', key: [fence.id, fence.token, n] }, (tx) => add(tx, n, fence)),
          read: () => read(pool),
        }
      : {
          claim: (fence) => postgres.fencedTransaction(pool, fence, read),
          write: (fence, n) => postgres.fencedTransaction(pool, fence, (tx) => add(tx, n)),
          read: () => read(pool),
        },
    close() {
      void pool.end();
      void own.close();
    },
  };
}
