import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { leaseProviderConformance, recordStoreConformance } from '../../src/testing/index.ts';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres.ts';

/** What the database gives to connections that ask for nothing: our statements ask for nothing. */
const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;
/** As large as the limit of the other stores: the cases around the limit write many records of that size. */
const maxRecordBytes = 1_048_576;

describe.runIf(await postgresAvailable())('PostgreSQL', () => {
  let server: PostgresServer;
  const stores = new Map<string, RecordStore>();
  const pools = new Map<string, Pool>();
  const named = (name: string): RecordStore => stores.get(name) as RecordStore;
  /** The server's clock is nobody's to move: the rows are made older instead. */
  const ageing = (name: string, table: string) => ({
    store: named(name),
    advance: async (ms: number) => {
      await pools.get(name)?.query(`UPDATE ${table} SET written_at_ms = written_at_ms - $1`, [ms]);
    },
  });

  beforeAll(async () => {
    server = await startPostgres();
    for (const level of LEVELS) {
      const database = await server.database({ default_transaction_isolation: level });
      const pool = database.pool();
      pools.set(level, pool);
      stores.set(level, postgresStore({ pool, maxRecordBytes }));
      if (level !== 'read committed') continue;
      stores.set('in real time', postgresStore({ connectionString: database.url, schema: 'Of "ours"', tableName: 'Récords' }));
      stores.set('one client', postgresStore({ client: await database.pool(1).connect(), tableName: 'of_one_client', maxRecordBytes }));
      pools.set('one client', pool);
    }
    for (const store of stores.values()) await store.setUp?.();
  }, 120_000);
  afterAll(async () => {
    for (const store of stores.values()) await store.close?.();
    await server?.stop();
  });

  for (const level of LEVELS) {
    recordStoreConformance({ name: `postgres, ${level} by default`, describe, it, createStore: async () => ageing(level, 'rerunsafe') });
  }
  recordStoreConformance({
    name: "postgres, on one client of the caller's",
    describe,
    it,
    createStore: async () => ageing('one client', 'of_one_client'),
  });
  recordStoreConformance({
    name: 'postgres, in real time, with a pool of its own and names that have to be quoted',
    describe,
    it,
    createStore: async () => ({ store: named('in real time') }),
  });

  for (const level of LEVELS) {
    leaseProviderConformance({
      name: `storeLeases, postgres, ${level} by default`,
      describe,
      it,
      leaseMs: 30_000,
      createLeases: async () => {
        const { store, advance } = ageing(level, 'rerunsafe');
        return { leases: storeLeases(store), advance };
      },
    });
  }
  leaseProviderConformance({
    name: 'storeLeases, postgres, in real time',
    // The cases that let a lease run out wait at the same time.
    describe: describe.concurrent,
    it,
    leaseMs: 2_000,
    createLeases: async () => ({ leases: storeLeases(named('in real time')) }),
  });
});
