import { describe, expect, it } from 'vitest';
import { runOnce } from '../../../src/index.ts';
import type { PostgresStoreOptions } from '../../../src/stores/postgres/index.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage } from './postgres-subject.ts';

describe.runIf(await postgresAvailable())('postgresStore, prepared statements', () => {
  const stage = postgresStage();
  /** Two on each connection of the pool. */
  const runs = (store: Awaited<ReturnType<typeof stage.fresh>>, round: string) =>
    Promise.all(
      Array.from({ length: 8 }, (_, n) => new Promise(setImmediate).then(() => runOnce({ store, operation: 'o', key: `${round} ${n}` }, () => n))),
    );
  const expected = Array.from({ length: 8 }, (_, n) => n);
  const prepared = async (): Promise<number> => {
    const counts = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const client = await stage.pool.connect();
        const { rows } = await client.query("SELECT count(*)::int AS count FROM pg_prepared_statements WHERE name LIKE 'rerunsafe%'");
        return { client, count: rows[0].count as number };
      }),
    );
    for (const { client } of counts) client.release();
    return counts.reduce((sum, { count }) => sum + count, 0);
  };
  const onOwnPool = (options: PostgresStoreOptions = {}) => stage.fresh({ pool: stage.pool, preparedStatements: true, ...options });

  it('are made once for a connection, and none for a pool of somebody else that was not said to take them', async () => {
    await runs(await stage.fresh({ pool: stage.pool }), 'without');
    expect(await prepared()).toBe(0);
    const store = await onOwnPool();
    await runs(store, 'with');
    const made = await prepared();
    expect(made).toBeGreaterThan(0);
    await runs(store, 'again');
    expect(await prepared()).toBeLessThanOrEqual(4 * 4);
  });

  it('I1 are done without where a connection has lost them, where somebody else has made them, and where the table has changed since', async () => {
    const store = await onOwnPool();
    expect(await runs(store, 'first')).toEqual(expected);
    for (const meddle of ['DEALLOCATE ALL', 'ALTER TABLE rerunsafe ADD COLUMN IF NOT EXISTS noted text']) {
      const fresh = await onOwnPool();
      expect(await runs(fresh, `before ${meddle}`)).toEqual(expected);
      const clients = await Promise.all(Array.from({ length: 4 }, () => stage.pool.connect()));
      for (const client of clients) await client.query(meddle);
      for (const client of clients) client.release();
      expect(await runs(fresh, `after ${meddle}`)).toEqual(expected);
      expect(await runs(fresh, `after ${meddle}`)).toEqual(expected);
    }
  });
});
