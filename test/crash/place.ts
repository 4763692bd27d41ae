/**
 * A store on an emulator or in a file, and a counter beside it that only fenced writes may change: as several processes reach them.
 *
 * @module
 */
import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import type { Fence, RecordStore } from '../../src/core/ports.ts';
import { fencedClaim, fencedUpsert, tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore, fencedPut, fencedUpdate } from '../../src/stores/dynamodb/index.ts';
import { fencedTransaction, sqliteStore } from '../../src/stores/sqlite/index.ts';

/** Plain JSON: handed to each process. */
export type Place =
  | { readonly kind: 'azure-tables'; readonly connectionString: string; readonly tableName: string }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string }
  | { readonly kind: 'sqlite'; readonly path: string };

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
