import { describe, expect, it } from 'vitest';
import {
  fencedClaim,
  type LoadStagingOptions,
  loadStaging,
  runInTransaction,
  type Upserted,
  type UpsertOptions,
  upsert,
} from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

/** A type, two values of which only one is as it is stored, and a third one that is another. */
const ROUNDING: readonly [type: string, stands: unknown, same: unknown, other: unknown][] = [
  ['numeric(10,2)', '1.01', '1.012', '1.02'],
  ['timestamptz(0)', new Date(1_700_000_000_000), new Date(1_700_000_000_400), new Date(1_700_000_001_000)],
  ['interval(0)', '5 s', '5.3 s', '6 s'],
  ['rounded_to_cents', '1.01', '1.012', '1.02'],
  ['int', '3', '03', '4'],
  ['numeric', '1.0', '1.00', '2'],
  ['uuid', '6f1d4c9e-9c1f-4f57-8a53-0d8b7f0f3c11', '6F1D4C9E9C1F4F578A530D8B7F0F3C11', '00000000-0000-0000-0000-000000000000'],
  ['varchar(3)', 'abc', 'abc  ', 'abd'],
  ['char(3)', 'ab', 'ab   ', 'abd'],
  ['text COLLATE any_case', 'Ab', 'aB', 'ac'],
];

describe.runIf(await postgresAvailable())('keys that are stored otherwise than they are given, on PostgreSQL', () => {
  const stage = fencedStage();
  const key = ['k'];
  const put = (options: UpsertOptions): Promise<Upserted> => inTransaction(stage.pool, {}, (tx) => upsert(tx, options));
  const load = (options: LoadStagingOptions): Promise<Upserted> => inTransaction(stage.pool, {}, (tx) => loadStaging(tx, options));
  const texts = async (table: string) => (await stage.rows(`SELECT v FROM ${table} ORDER BY v`)).map(({ v }) => v);
  const types = () =>
    stage.pool.query(`DO $$ BEGIN CREATE DOMAIN rounded_to_cents AS numeric(10,2);
      CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false); EXCEPTION WHEN duplicate_object THEN END $$`);
  const keyed = async (type: string): Promise<string> => {
    await types();
    return stage.table('keyed', `k ${type} PRIMARY KEY, v text, fence bigint`);
  };
  const DOUBLED = { code: 'INVALID_OPTIONS', facts: { doubled: 1 } };

  describe.each(['on conflict', 'merge'] as const)('%s', (mode) => {
    it.each(ROUNDING)('S6 I4 a stale token is refused at a key of type %s that is rounded', async (type, stands, same) => {
      const table = await keyed(type);
      await put({ table, key, mode, rows: [{ k: stands, v: 'newer' }], fence: { token: 100 } });
      const stale = put({ table, key, mode, rows: [{ k: same, v: 'stale' }], fence: { token: 50 } });
      await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { token: 50, storedToken: 100 } });
      expect(await texts(table)).toEqual(['newer']);
    });

    it.each(ROUNDING)(
      'S2 a key of type %s that is rounded is the row that stands there, however often it is written',
      async (type, stands, same, other) => {
        const table = await keyed(type);
        const rows = (k: unknown, v: string) => [
          { k, v },
          { k: other, v: 'other' },
        ];
        expect(await put({ table, key, mode, rows: rows(same, 'a') })).toMatchObject({ written: 2 });
        expect(await put({ table, key, mode, rows: rows(same, 'a') })).toMatchObject({ written: 0, unchanged: 2 });
        expect(await put({ table, key, mode, rows: rows(stands, 'b') })).toMatchObject({ written: 1, unchanged: 1 });
        expect(await texts(table)).toEqual(['b', 'other']);
      },
    );

    it.each(ROUNDING)(
      'S2 two keys of type %s that are stored as one are refused, whatever is done with rows that stand',
      async (type, stands, same, other) => {
        const table = await keyed(type);
        for (const update of [undefined, 'nothing'] as const) {
          const rows = [stands, other, same].map((k, n) => ({ k, v: String(n) }));
          await expect(put({ table, key, mode, rows, ...(update && { update }) })).rejects.toMatchObject(DOUBLED);
          await put({ table, key, mode, rows: rows.slice(0, 1), fence: { token: 1 } });
          await expect(put({ table, key, mode, rows, ...(update && { update }) })).rejects.toMatchObject(DOUBLED);
          await stage.pool.query(`DELETE FROM ${table}`);
        }
      },
    );

    it('S2 such keys are found across the statements of one call', async () => {
      const table = await keyed('int');
      const rows = [...Array.from({ length: 70_000 }, (_, n) => ({ k: String(n), v: 'a' })), { k: '069999', v: 'b' }];
      await expect(put({ table, key, mode, rows })).rejects.toMatchObject(DOUBLED);
      expect(await put({ table, key, mode, rows: rows.slice(0, -1) })).toMatchObject({ written: 70_000 });
    });

    it('a key that is too long is refused, also where its beginning stands there', async () => {
      for (const type of ['varchar(3)', 'char(3)']) {
        const table = await keyed(type);
        await put({ table, key, mode, rows: [{ k: 'abc', v: 'a' }] });
        await expect(put({ table, key, mode, rows: [{ k: 'abcd', v: 'b' }] })).rejects.toMatchObject({ code: '22001' });
        expect(await texts(table)).toEqual(['a']);
      }
    });

    it('S2 S6 so it is with staged rows: a timestamp that is loaded into a date', async () => {
      const from = await stage.table('staged', 'k timestamp, v text');
      const into = await stage.table('loaded', 'k date PRIMARY KEY, v varchar(9), fence bigint');
      const its = { from, into, key, mode };
      await stage.pool.query(`INSERT INTO ${from} VALUES ('2026-01-01 01:00', 'a'), ('2026-01-01 02:00', 'b'), ('2026-01-02', 'c')`);
      for (const update of [undefined, 'nothing'] as const) await expect(load({ ...its, ...(update && { update }) })).rejects.toMatchObject(DOUBLED);
      await stage.pool.query(`DELETE FROM ${from} WHERE v = 'b'`);
      expect(await load({ ...its, fence: { token: 100 } })).toMatchObject({ written: 2 });
      expect(await load({ ...its, fence: { token: 100 } })).toMatchObject({ written: 0, unchanged: 2 });
      await expect(load({ ...its, fence: { token: 50 } })).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: 100 } });
      expect(await texts(into)).toEqual(['a', 'c']);
    });

    it('S2 staged values of another type than the target has are written once', async () => {
      const from = await stage.table('staged', 'k int, at timestamp, n numeric, v text');
      const into = await stage.table('loaded', 'k bigint PRIMARY KEY, at date, n int, v char(5)');
      await stage.pool.query(`INSERT INTO ${from} VALUES (1, '2026-01-01 01:00', 1.6, 'a')`);
      expect(await load({ from, into, key, mode })).toMatchObject({ written: 1 });
      expect(await load({ from, into, key, mode })).toMatchObject({ written: 0, unchanged: 1 });
    });
  });

  it.each(ROUNDING)('S6 I4 fencedClaim finds the row of a key of type %s that is rounded', async (type, stands, same, other) => {
    const table = await keyed(type);
    await put({ table, key, rows: [{ k: stands, v: 'a' }] });
    expect(await fencedClaim(stage.pool, { table, key: { k: same }, fence: { token: 7 } })).toMatchObject({ v: 'a', fence: '7' });
    await expect(fencedClaim(stage.pool, { table, key: { k: same }, fence: { token: 6 } })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    expect(await fencedClaim(stage.pool, { table, key: { k: other }, fence: { token: 7 } })).toBeUndefined();
  });

  it.each(['repeatable read', 'serializable'] as const)(
    'S2 two merges at once under %s: the later one is done all over, and its rows stand',
    async (isolation) => {
      const table = await stage.table('merged', 'k int PRIMARY KEY, v text UNIQUE');
      const merging = (v: string, alone: () => Promise<unknown>) =>
        runInTransaction({ pool: stage.pool, operation: 'test/merge', key: stage.fresh('merge'), isolation }, async (tx) => {
          await tx.query(`SELECT FROM ${table}`);
          await alone();
          return (await upsert(tx, { table, key, mode: 'merge', rows: [{ k: 1, v }] })).written;
        });
      let calls = 0;
      let first: Promise<unknown> | undefined;
      const second = merging('b', async () => {
        calls += 1;
        first ??= merging('a', async () => {});
        await first;
      });
      expect([await second, await first, calls]).toEqual([1, 1, 2]);
      expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([{ k: 1, v: 'b' }]);
      // Of another unique index it is the caller's to see, under every level.
      const other = runInTransaction({ pool: stage.pool, operation: 'test/merge', key: stage.fresh('merge'), isolation }, (tx) =>
        upsert(tx, { table, key, mode: 'merge', rows: [{ k: 2, v: 'b' }] }),
      );
      await expect(other).rejects.toMatchObject({ code: '23505' });
    },
  );
});
