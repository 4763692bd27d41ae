import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { forgetScope, runOnce } from '../../../src/index.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { all, postgresStage } from './postgres-subject.ts';
import { sqliteStage } from './sqlite-subject.ts';

const [HERS, OTHERS] = [2_000, 40_000];

const one = (store: RecordStore, scope: string): Promise<string> =>
  runOnce({ store, operation: 'o', scope, key: 'k', input: scope, label: scope }, () => scope);

/** Runs others' calls for as long as hers are being forgotten. */
async function forgetAmidCalls(store: RecordStore): Promise<{ forgotten: number; calls: number }> {
  let ended = false;
  const erasure = forgetScope({ store, scope: 'hers' }).finally(() => {
    ended = true;
  });
  let calls = 0;
  while (!ended) {
    await runOnce({ store, operation: 'o', scope: 'others', key: `call ${calls}` }, () => calls);
    calls += 1;
    await turn();
  }
  expect(await erasure).toEqual({ forgotten: HERS + 1, running: 0, failures: [], more: false });
  return { forgotten: HERS + 1, calls };
}

/** Every row once more under another id, `hers` so often, the others' so often. */
const multiply = (columns: readonly string[], number: string): string => {
  const rest = columns.filter((column) => column !== 'id').join(', ');
  return `INSERT INTO rerunsafe (id, ${rest}) SELECT ${number}, ${rest} FROM rerunsafe JOIN n ON n.i <= CASE WHEN label = 'hers' THEN ${HERS} ELSE ${OTHERS} END`;
};

const hasPostgres = await postgresAvailable();

describe('erasure in a large table', () => {
  describe('SQLite', () => {
    const stage = sqliteStage();
    it('goes on beside the calls of others, and finds all of it', async () => {
      const store = await stage.fresh();
      await one(store, 'hers');
      await one(store, 'others');
      const database = stage.connection();
      const columns = database.prepare("SELECT name FROM pragma_table_info('rerunsafe')").all() as { name: string }[];
      const names = columns.map(({ name }) => name);
      database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OTHERS}) ${multiply(names, "id || '.' || i")}`);
      const { calls } = await forgetAmidCalls(store);
      expect(calls).toBeGreaterThan(20);
      expect((await all(store, {})).filter(({ record }) => record.label === 'hers')).toEqual([]);
    }, 120_000);
  });

  describe.runIf(hasPostgres)('PostgreSQL', () => {
    const stage = postgresStage();
    it('goes on beside the calls of others, and finds all of it', async () => {
      const store = await stage.fresh();
      await one(store, 'hers');
      await one(store, 'others');
      const { rows } = await stage.pool.query("SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'rerunsafe'");
      const names = (rows as { name: string }[]).map(({ name }) => name);
      await stage.pool.query(`WITH n (i) AS (SELECT generate_series(1, ${OTHERS})) ${multiply(names, "id || '.' || i")}`);
      const { calls } = await forgetAmidCalls(store);
      expect(calls).toBeGreaterThan(20);
      expect((await all(store, {})).filter(({ record }) => record.label === 'hers')).toEqual([]);
    }, 120_000);
  });
});
