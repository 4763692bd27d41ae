import { describe } from 'vitest';
import { postgresOutbox } from '../../src/stores/postgres/outbox.ts';
import { runInTransaction } from '../../src/stores/postgres/run-in-transaction.ts';
import { postgresStore } from '../../src/stores/postgres/store.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { killsSuite, LONG } from './kills-suite.ts';

const RUN_KEYS = 5;

describe.runIf(await postgresAvailable())('a relay that is killed', () => {
  killsSuite({
    name: 'PostgreSQL',
    keys: LONG ? 100 : 50,
    messages: LONG ? 50 : 10,
    kills: LONG ? 50 : 8,
    stops: LONG ? 10 : 2,
    async start() {
      const server = await startPostgres();
      const database = await server.database();
      const pool = database.pool(6);
      await postgresStore({ pool }).setUp();
      await pool.query(
        'CREATE TABLE effects (at bigint GENERATED ALWAYS AS IDENTITY, message text, key text, n integer); CREATE TABLE deliveries (message text)',
      );
      const run = (keys: readonly string[], n: number): Promise<unknown> =>
        runInTransaction({ pool, operation: 'orders/take', key: [n, ...keys] }, (_, { outbox }) => {
          for (const key of keys) outbox.add({ topic: 'test/numbered', key, payload: { n } });
        });
      return {
        task: { kind: 'postgres', url: database.url },
        async write(keys, n) {
          const runs = Array.from({ length: Math.ceil(keys.length / RUN_KEYS) }, (_, part) => keys.slice(part * RUN_KEYS, (part + 1) * RUN_KEYS));
          await Promise.all(runs.map((part) => run(part, n)));
        },
        applied: async () => (await pool.query('SELECT count(*)::int AS n FROM effects')).rows[0].n,
        deliveries: async () => (await pool.query('SELECT count(*)::int AS n FROM deliveries')).rows[0].n,
        effects: async () => (await pool.query('SELECT message, key, n FROM effects ORDER BY at')).rows,
        left: () => postgresOutbox({ pool }).waiting(),
        async stop() {
          await database.drop();
          await server.stop();
        },
      };
    },
  });
});
