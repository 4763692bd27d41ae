/**
 * One place for records, as each version opens it by its own store.
 *
 * @module
 */
import { DatabaseSync } from 'node:sqlite';
import type { Fence, RecordStore } from '../../src/core/ports.ts';
import type { Engine } from './engines.ts';

/** Plain JSON, but for a clock: handed to each process. */
export type Place =
  | { readonly kind: 'sqlite'; readonly path: string; readonly clock?: undefined | { nowMs(): number } }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string }
  | { readonly kind: 'postgres'; readonly connectionString: string }
  | { readonly kind: 'redis'; readonly url: string };

export interface Opened {
  readonly store: RecordStore;
  /** A row that only the holder of the fence may write: by the version's own fenced write, where the place is a file. */
  write?(fence: Fence, name: string): Promise<unknown>;
  close(): Promise<void>;
}

export async function openPlace(engine: Engine, place: Place): Promise<Opened> {
  switch (place.kind) {
    case 'sqlite': {
      const store = engine.sqliteStore({ path: place.path, ...(place.clock === undefined ? {} : { clock: place.clock }) });
      const database = new DatabaseSync(place.path);
      database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS writes (name TEXT, token INTEGER) STRICT');
      const insert = (fence: Fence, name: string) => (db: DatabaseSync) =>
        db.prepare('INSERT INTO writes (name, token) VALUES (?, ?)').run(name, fence.token);
      return {
        store,
        write: (fence, name) => engine.fencedSqlite(database, fence, insert(fence, name)),
        async close() {
          database.close();
          await store.close();
        },
      };
    }
    case 'dynamodb': {
      const { endpoint, tableName } = place;
      // Each process loads what it needs, and no more: most of their time is their start.
      const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
      const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
      return { store: engine.dynamodbStore({ client, tableName }), close: async () => client.destroy() };
    }
    case 'postgres': {
      const store = made(engine.postgresStore)({ connectionString: place.connectionString });
      return { store, close: async () => store.close?.() };
    }
    case 'redis': {
      const { openClient } = await import('../support/redis-clients.ts');
      const opened = await openClient('ioredis', place.url);
      return { store: made(engine.redisStore)({ client: opened.client, acceptFailoverLoss: true }), close: async () => opened.close() };
    }
  }
}

function made<S>(store: S | undefined): S {
  if (store === undefined) throw new Error('that version had no such store');
  return store;
}

/** In the order in which they were committed. */
export function fencedWrites(path: string): { readonly name: string; readonly token: number }[] {
  const database = new DatabaseSync(path);
  try {
    return database.prepare('SELECT name, token FROM writes ORDER BY rowid').all() as unknown as { name: string; token: number }[];
  } finally {
    database.close();
  }
}
