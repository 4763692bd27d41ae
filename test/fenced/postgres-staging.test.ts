import { beforeEach, describe, expect, it } from 'vitest';
import { runOnce, storeLeases } from '../../src/index.ts';
import { fenced, fencedTransaction, type LoadStagingOptions, loadStaging, postgresStore, type Upserted } from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

const COUNT = 10_000;
const COLUMNS = 'shop int, day date, total numeric(12,2), note text, details json';
const key = ['shop', 'day'];

describe.runIf(await postgresAvailable())('a staging table loaded on PostgreSQL', () => {
  const stage = fencedStage();
  let from: string;
  let into: string;
  const load = (options: Partial<LoadStagingOptions> = {}): Promise<Upserted> =>
    inTransaction(stage.pool, {}, (tx) => loadStaging(tx, { from, into, key, ...options }));
  const sum = async (): Promise<unknown> =>
    (
      await stage.rows(`SELECT count(*)::int AS n, sum(total) AS total, md5(string_agg(r::text, ',' ORDER BY shop, day)) AS all FROM ${into} AS r`)
    )[0];
  const stageRows = (count: number): Promise<unknown> =>
    stage.rows(
      `INSERT INTO ${from} SELECT n % 100, date '2026-01-01' + n / 100, n / 3.0, 'note ' || n, json_build_object('n', n) FROM generate_series(1, ${count}) AS n`,
    );

  beforeEach(async () => {
    from = await stage.table('sales_staging', COLUMNS);
    into = await stage.table('sales', `${COLUMNS}, fence bigint, PRIMARY KEY (shop, day)`);
  });

  describe.each(['on conflict', 'merge'] as const)('%s', (mode) => {
    it(`S2 run again by hand, a nightly load of ${COUNT} rows leaves what one run leaves, and writes nothing`, async () => {
      await stageRows(COUNT);
      expect(await load({ mode })).toMatchObject({ written: COUNT, unchanged: 0 });
      const once = await sum();
      const places = await stage.rows(`SELECT md5(string_agg(ctid::text || xmin::text, ',' ORDER BY shop, day)) FROM ${into}`);
      expect(await load({ mode })).toMatchObject({ written: 0, unchanged: COUNT });
      expect(await sum()).toEqual(once);
      expect(once).toMatchObject({ n: COUNT });
      expect(await stage.rows(`SELECT md5(string_agg(ctid::text || xmin::text, ',' ORDER BY shop, day)) FROM ${into}`)).toEqual(places);
      await stage.pool.query(`UPDATE ${from} SET total = total + 1 WHERE shop = 7; INSERT INTO ${from} VALUES (1000, '2026-01-01', 1, NULL, NULL)`);
      expect(await load({ mode })).toMatchObject({ written: 101, unchanged: COUNT - 100 });
    });

    it('S6 I4 a load of a stale holder is refused, by the lease and by the rows, and nothing of it is written', async () => {
      await stageRows(500);
      const name = stage.fresh('load');
      const old = await stage.taken(name);
      await load({ mode, fence: old.fence });
      const next = await stage.takenOver(name);
      expect(await load({ mode, fence: next.fence })).toMatchObject({ written: 500 });
      expect(await load({ mode, fence: next.fence })).toMatchObject({ written: 0, unchanged: 500 });
      const once = await sum();
      await stage.pool.query(`UPDATE ${from} SET total = 0; INSERT INTO ${from} VALUES (1000, '2026-01-01', 1, NULL, NULL)`);
      await expect(load({ mode, fence: old.fence })).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: next.token } });
      const byLease = fencedTransaction(stage.pool, old.fence, (tx) => loadStaging(tx, { from, into, key, mode }));
      await expect(byLease).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: next.token } });
      expect(await sum()).toEqual(once);
    });

    it('S2 32 loaders at once leave what one leaves', async () => {
      await stageRows(1_000);
      const counts = await Promise.all(Array.from({ length: 32 }, () => load({ mode })));
      expect(counts.reduce((written, count) => written + count.written, 0)).toBe(1_000);
      expect(await sum()).toMatchObject({ n: 1_000 });
      expect(await load({ mode })).toMatchObject({ unchanged: 1_000 });
    });

    it('S2 a key that is staged twice, or is NULL, loads nothing and is counted', async () => {
      await stageRows(10);
      await stage.pool.query(
        `INSERT INTO ${from} SELECT * FROM ${from} WHERE shop < 3; INSERT INTO ${from} VALUES (NULL, '2026-01-01', 1), (1, NULL, 2), (1, NULL, 3)`,
      );
      const refused = { code: 'INVALID_OPTIONS', facts: { doubled: 2, keyless: 2 } };
      await expect(load({ mode })).rejects.toMatchObject(refused);
      await expect(load({ mode, fence: { token: 5 } })).rejects.toMatchObject(refused);
      expect(await sum()).toMatchObject({ n: 0 });
      await stage.pool.query(`DELETE FROM ${from} WHERE shop IS NULL OR day IS NULL`);
      await expect(load({ mode })).rejects.toMatchObject({ facts: { doubled: 2, keyless: 0 } });
    });

    it('columns that the target generates itself are not loaded, others only when they are named', async () => {
      const target = await stage.table(
        'numbered',
        'id bigint GENERATED ALWAYS AS IDENTITY, code text PRIMARY KEY, a int, b int, twice int GENERATED ALWAYS AS (a * 2) STORED',
      );
      const staged = await stage.table('numbered_staging', `LIKE ${target}`);
      await stage.pool.query(`INSERT INTO ${staged} (id, code, a, b) VALUES (70, 'x', 1, 1)`);
      await load({ mode, from: staged, into: target, key: ['code'] });
      expect(await stage.rows(`SELECT * FROM ${target}`)).toEqual([{ id: '1', code: 'x', a: 1, b: 1, twice: 2 }]);
      await stage.pool.query(`UPDATE ${staged} SET a = 5, b = 5`);
      await load({ mode, from: staged, into: target, key: ['code'], columns: ['code', 'a'] });
      await load({ mode, from: staged, into: target, key: ['code'], update: 'nothing' });
      expect(await stage.rows(`SELECT * FROM ${target}`)).toEqual([{ id: '1', code: 'x', a: 5, b: 1, twice: 10 }]);
    });

    it('a staging table that is made like its target has a column for the fence, which says nothing', async () => {
      const staged = await stage.table('sales_alike', `LIKE ${into}`);
      await stage.pool.query(`INSERT INTO ${staged} VALUES (1, '2026-01-01', 1, 'x', NULL, 999)`);
      await load({ mode, from: staged, fence: { token: 5 } });
      expect(await stage.rows(`SELECT shop, fence FROM ${into}`)).toEqual([{ shop: 1, fence: '5' }]);
    });

    it("S2 loads of the same rows in another order are in nobody's way", async () => {
      const staged = await stage.table('sales_backwards', COLUMNS);
      await stageRows(2_000);
      await stage.pool.query(`INSERT INTO ${staged} SELECT * FROM ${from} ORDER BY day DESC, shop DESC`);
      for (let round = 0; round < 4; round += 1) {
        await stage.pool.query(`UPDATE ${from} SET total = total + 1; UPDATE ${staged} SET total = total + 2`);
        await Promise.all([from, staged, from, staged].map((each) => load({ mode, from: each })));
      }
      expect(await sum()).toMatchObject({ n: 2_000 });
    });

    it('an empty staging table loads nothing, a missing one is told by PostgreSQL', async () => {
      expect(await load({ mode })).toMatchObject({ written: 0, unchanged: 0 });
      await expect(load({ mode, from: 'no_such_table' })).rejects.toMatchObject({ code: '42P01' });
      await expect(load({ mode, into: 'no_such_table' })).rejects.toMatchObject({ code: '42P01' });
    });

    it('a temporary table of the transaction is a staging table too', async () => {
      await inTransaction(stage.pool, {}, async (tx) => {
        await tx.query(`CREATE TEMP TABLE incoming (${COLUMNS}) ON COMMIT DROP`);
        await tx.query(`INSERT INTO incoming VALUES (1, '2026-01-01', 1, 'x', '{}')`);
        expect(await loadStaging(tx, { from: 'incoming', into, key, mode })).toMatchObject({ written: 1 });
      });
      expect(await sum()).toMatchObject({ n: 1 });
    });
  });

  it('S2 the whole of it: recorded for its night, under a lease, run again by hand and by a stale holder', async () => {
    await stageRows(300);
    const store = postgresStore({ pool: stage.pool });
    const leases = storeLeases(store);
    const name = stage.fresh('nightly');
    const night = stage.fresh('night');
    const nightly = async (lease: { fence: { id: string; owner: string; token: number } }, day: string) =>
      runOnce({ store, operation: 'load/sales', key: day }, () =>
        inTransaction(stage.pool, {}, async (tx) => {
          await fenced(tx, lease.fence);
          return (await loadStaging(tx, { from, into, key })).written;
        }),
      );
    const first = await stage.taken(name);
    expect(await nightly(first, night)).toBe(300);
    expect(await nightly(first, night)).toBe(300);
    await leases.break(name);
    const second = await stage.taken(name);
    expect(await nightly(second, `${night} by hand`)).toBe(0);
    await stage.pool.query(`UPDATE ${from} SET total = 0`);
    await expect(nightly(first, `${night} late`)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    expect(await stage.rows(`SELECT count(*)::int AS n FROM ${into} WHERE total > 0`)).toEqual([{ n: 300 }]);
  });
});
