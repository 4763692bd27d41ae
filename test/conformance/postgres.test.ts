import { Client } from 'pg';
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
  let client: Client;
  const stores = new Map<string, RecordStore>();
  const named = (name: string): RecordStore => stores.get(name) as RecordStore;

  beforeAll(async () => {
    server = await startPostgres();
    for (const level of LEVELS) {
      const database = await server.database({ default_transaction_isolation: level });
      stores.set(level, postgresStore({ pool: database.pool(), maxRecordBytes }));
      if (level !== 'read committed') continue;
      stores.set('own pool', postgresStore({ connectionString: database.url, schema: 'Of "ours"', tableName: 'Récords' }));
      client = new Client({ connectionString: database.url });
      await client.connect();
      stores.set('one client', postgresStore({ client, tableName: 'of_one_client', maxRecordBytes }));
    }
    for (const store of stores.values()) await store.setUp?.();
  }, 120_000);
  afterAll(async () => {
    for (const store of stores.values()) await store.close?.();
    await client?.end();
    await server?.stop();
  });

  const names = {
    'own pool': 'with a pool of its own and names that have to be quoted',
    'one client': "on one client of the caller's",
    ...Object.fromEntries(LEVELS.map((level) => [level, `${level} by default`])),
  };
  for (const [name, told] of Object.entries(names)) {
    recordStoreConformance({
      name: `postgres, ${told}`,
      // The cases about age wait, in real time, at the same time: nobody but the server moves its clock.
      describe: describe.concurrent,
      it,
      createStore: async () => ({ store: named(name) }),
      // One connection does one thing at a time.
      ...(name === 'one client' ? { concurrency: { rounds: 3, increments: 5 } } : {}),
    });
  }
  for (const level of ['read committed', 'serializable'] as const) {
    leaseProviderConformance({
      name: `storeLeases, postgres, ${level} by default`,
      describe: describe.concurrent,
      it,
      leaseMs: 2_000,
      createLeases: async () => ({ leases: storeLeases(named(level)) }),
    });
  }
});
