/**
 * A server for the file, a database for each test, and stores and pools on it that are closed afterwards.
 *
 * @module
 */
import { Client, type Pool, type PoolConfig } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { BatchStore, Listed, ListQuery, RecordStore } from '../../../src/core/ports.ts';
import { type PostgresStoreOptions, postgresStore } from '../../../src/stores/postgres/index.ts';
import { type PostgresDatabase, type PostgresOptions, type PostgresServer, startPostgres } from '../../support/postgres.ts';

export interface Stage {
  readonly server: PostgresServer;
  readonly database: PostgresDatabase;
  readonly pool: Pool;
  /** Not set up. Over a pool of its own, unless it is told another. */
  another(options?: PostgresStoreOptions, config?: PoolConfig): BatchStore;
  /** The same, set up. */
  fresh(options?: PostgresStoreOptions, config?: PoolConfig): Promise<BatchStore>;
  /** A connection that stays out of every pool. */
  client(url?: string): Promise<Client>;
}

/** Registers hooks: call it inside `describe`. */
export function postgresStage(options: PostgresOptions = {}): Stage {
  let server: PostgresServer;
  let database: PostgresDatabase;
  let pool: Pool;
  const stores: RecordStore[] = [];
  const clients: Client[] = [];
  beforeAll(async () => {
    server = await startPostgres(options);
  }, 60_000);
  afterAll(() => server?.stop());
  beforeEach(async () => {
    database = await server.database();
    pool = database.pool(4);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.end().catch(() => {});
    for (const store of stores.splice(0)) await store.close?.();
    await database.drop();
  });
  const stage: Stage = {
    get server() {
      return server;
    },
    get database() {
      return database;
    },
    get pool() {
      return pool;
    },
    another(more = {}, config = {}) {
      const places = [more.pool, more.client, more.connectionString];
      const where = places.every((place) => place === undefined) ? { pool: database.pool(10, config) } : {};
      const store = postgresStore({ ...where, ...more });
      stores.push(store);
      return store;
    },
    async fresh(more, config) {
      const store = stage.another(more, config);
      await store.setUp();
      return store;
    },
    async client(url = database.url) {
      const client = new Client({ connectionString: url });
      client.on('error', () => {});
      clients.push(client);
      await client.connect();
      return client;
    },
  };
  return stage;
}

export async function all(store: RecordStore, query: ListQuery = {}): Promise<Listed[]> {
  const found: Listed[] = [];
  for await (const one of store.list(query)) found.push(one);
  return found;
}

/** Until somebody on this database waits for a lock. */
export async function somebodyWaits(pool: Pool, count = 1): Promise<void> {
  for (let look = 0; look < 500; look++) {
    const { rows } = await pool.query(
      "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rows[0].waiting >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('nobody waits for a lock');
}
