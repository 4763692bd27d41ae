import { describe, expect, it } from 'vitest';
import { type Upserted, type UpsertOptions, upsert } from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

describe.runIf(await postgresAvailable())('upserts by business key on PostgreSQL', () => {
  const stage = fencedStage();
  const put = (options: UpsertOptions): Promise<Upserted> => inTransaction(stage.pool, {}, (tx) => upsert(tx, options));
  const report = (): Promise<string> => stage.table('report', 'day text, shop int, total numeric(10,2), fence bigint, PRIMARY KEY (day, shop)');
  const key = ['day', 'shop'];
  const row = (shop: number, total: unknown) => ({ day: '2026-03-01', shop, total });
  const totals = async (table: string) =>
    (await stage.rows(`SELECT shop, total, fence FROM ${table} ORDER BY shop`)).map(({ shop, total, fence }) => [shop, total, fence]);

  describe.each(['on conflict', 'merge'] as const)('%s', (mode) => {
    /** Before 17 MERGE does not say which of the two it did. */
    const told = (inserted: number, updated: number, unchanged: number) => {
      const tells = mode === 'on conflict' || stage.version >= 170_000;
      return { written: inserted + updated, inserted: tells ? inserted : undefined, updated: tells ? updated : undefined, unchanged };
    };

    it('S2 inserts what is not there, updates what is, leaves alone what stands there just so, and says how many of each', async () => {
      const table = await report();
      expect(await put({ table, key, mode, rows: [row(1, '1.5'), row(2, 2), row(3, null)] })).toEqual(told(3, 0, 0));
      expect(await put({ table, key, mode, rows: [row(3, null), row(2, '2.50'), row(1, '1.5'), row(4, 4)] })).toEqual(told(1, 1, 2));
      expect(await totals(table)).toEqual([
        [1, '1.50', null],
        [2, '2.50', null],
        [3, null, null],
        [4, '4.00', null],
      ]);
    });

    it('S2 the same rows again fire no trigger and leave no dead row', async () => {
      const table = await stage.table('touched', 'id int PRIMARY KEY, note text, n int DEFAULT 0');
      await stage.pool.query(`CREATE FUNCTION ${table}_touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := OLD.n + 1; RETURN NEW; END';
        CREATE TRIGGER touch BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_touch()`);
      const load = () =>
        put({
          table,
          key: ['id'],
          mode,
          rows: [
            { id: 1, note: 'a' },
            { id: 2, note: null },
          ],
        });
      await load();
      const before = await stage.rows(`SELECT ctid::text, * FROM ${table} ORDER BY id`);
      expect(await load()).toEqual(told(0, 0, 2));
      expect(await stage.rows(`SELECT ctid::text, * FROM ${table} ORDER BY id`)).toEqual(before);
    });

    it('S6 I4 a row that a newer holder has written refuses the whole call, with both tokens, and what came before in it as well', async () => {
      const table = await report();
      await put({ table, key, mode, rows: [row(2, 2)], fence: { token: 20 } });
      const stale = put({ table, key, mode, rows: [row(1, 9), row(2, 9), row(3, 9)], fence: { id: 'nightly', token: 19 } });
      await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN', retryable: false, facts: { id: 'nightly', token: 19, storedToken: 20 } });
      expect(await totals(table)).toEqual([[2, '2.00', '20']]);
      await put({ table, key, mode, rows: [row(1, 1), row(2, 2.5)], fence: { token: 20 } });
      await put({ table, key, mode, rows: [row(2, 3)], fence: { token: 21 } });
      expect(await totals(table)).toEqual([
        [1, '1.00', '20'],
        [2, '3.00', '21'],
      ]);
    });

    it('S6 I4 a stale holder is refused though it would have written what stands there already', async () => {
      const table = await report();
      await put({ table, key, mode, rows: [row(1, 1)], fence: { token: 7 } });
      await expect(put({ table, key, mode, rows: [row(1, 1)], fence: { token: 6 } })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it('S6 whoever catches the refusal and commits the rest of the transaction commits nothing of what was refused', async () => {
      const table = await report();
      await put({ table, key, mode, rows: [row(5, 5)], fence: { token: 7 } });
      await inTransaction(stage.pool, {}, async (tx) => {
        await upsert(tx, { table, key, mode, rows: [row(4, 4), row(5, 6)], fence: { token: 6 } }).catch(() => {});
        await tx.query(`INSERT INTO ${table} VALUES ('other', 1, 1)`);
      });
      expect(await totals(table)).toEqual([
        [1, '1.00', null],
        [5, '5.00', '7'],
      ]);
    });

    it('S6 rows that nobody has fenced yet take the first token, and a new token is put into rows that stay as they are', async () => {
      const table = await report();
      await put({ table, key, mode, rows: [row(1, 1)] });
      const fenced = (token: number) => put({ table, key, mode, rows: [row(1, 1)], fence: { token } });
      expect(await fenced(1)).toEqual(told(0, 1, 0));
      expect(await fenced(1)).toEqual(told(0, 0, 1));
      expect(await fenced(2)).toEqual(told(0, 1, 0));
      expect(await totals(table)).toEqual([[1, '1.00', '2']]);
    });

    it('the fence of a lease is taken as it is, and its column can have another name', async () => {
      const table = await stage.table('named', 'id int PRIMARY KEY, "written ""by""" bigint');
      const { fence } = await stage.taken(stage.fresh('named'));
      await put({ table, key: ['id'], mode, rows: [{ id: 1 }], fence: { ...fence, column: 'written "by"' } });
      expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([{ id: 1, 'written "by"': String(fence.token) }]);
    });

    it('updates only the columns that it is told to, or none; a fence goes in all the same', async () => {
      const table = await stage.table('partly', 'id int PRIMARY KEY, a int, b int, fence bigint');
      await put({ table, key: ['id'], mode, rows: [{ id: 1, a: 1, b: 1 }] });
      await put({ table, key: ['id'], mode, rows: [{ id: 1, a: 2, b: 2 }], update: ['b'] });
      expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([{ id: 1, a: 1, b: 2, fence: null }]);
      const rows = [1, 2].map((id) => ({ id, a: 3, b: 3 }));
      expect(await put({ table, key: ['id'], mode, rows, update: 'nothing' })).toEqual(told(1, 0, 1));
      expect(await put({ table, key: ['id'], mode, rows, update: 'nothing', fence: { token: 4 } })).toEqual(told(0, 2, 0));
      await expect(put({ table, key: ['id'], mode, rows, update: 'nothing', fence: { token: 3 } })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await stage.rows(`SELECT * FROM ${table} ORDER BY id`)).toEqual([
        { id: 1, a: 1, b: 2, fence: '4' },
        { id: 2, a: 3, b: 3, fence: '4' },
      ]);
    });

    it('S6 more values than one statement takes are several statements, and all of them or none', async () => {
      const table = await stage.table('many', 'id int PRIMARY KEY, a int, b int, c int, fence bigint');
      const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, a: id, b: id, c: id }));
      expect(await put({ table, key: ['id'], mode, rows })).toEqual(told(20_000, 0, 0));
      expect(await stage.rows(`SELECT count(*), sum(c - id) AS off FROM ${table}`)).toEqual([{ count: '20000', off: '0' }]);
      await stage.pool.query(`UPDATE ${table} SET fence = 9 WHERE id = 9`);
      const stale = put({ table, key: ['id'], mode, rows: rows.map((each) => ({ ...each, c: 0 })), fence: { token: 8 } });
      await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await stage.rows(`SELECT sum(c - id) AS off FROM ${table}`)).toEqual([{ off: '0' }]);
    });

    it('no rows are nothing', async () => {
      expect(await put({ table: await report(), key, mode, rows: [] })).toEqual(told(0, 0, 0));
    });

    it("what PostgreSQL says of table and rows is the caller's to see, and the transaction can go on", async () => {
      const table = await stage.table('checked', 'id int PRIMARY KEY, n int CHECK (n > 0), name varchar(3) UNIQUE');
      await inTransaction(stage.pool, {}, async (tx) => {
        const bad = (rows: UpsertOptions['rows']) => upsert(tx, { table, key: ['id'], mode, rows });
        await expect(bad([{ id: 1, n: 0, name: 'a' }])).rejects.toMatchObject({ code: '23514' });
        await expect(bad([{ id: 1, n: 1, name: 'long' }])).rejects.toMatchObject({ code: '22001' });
        await expect(bad([{ id: 'one', n: 1, name: 'a' }])).rejects.toMatchObject({ code: '22P02' });
        await expect(bad([{ id: 1, m: 1 }])).rejects.toMatchObject({ code: '42703' });
        await bad([{ id: 1, n: 1, name: 'a' }]);
        // Of a unique index that is not the key's.
        await expect(bad([{ id: 2, n: 1, name: 'a' }])).rejects.toMatchObject({ code: '23505' });
        await expect(upsert(tx, { table: 'no_such_table', key: ['id'], mode, rows: [{ id: 1 }] })).rejects.toMatchObject({ code: '42P01' });
      });
      expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([{ id: 1, n: 1, name: 'a' }]);
    });

    it('a value that is too long is refused, also where its beginning stands there', async () => {
      const table = await stage.table('long', 'id int PRIMARY KEY, v varchar(3), c char(3)');
      await put({ table, key: ['id'], mode, rows: [{ id: 1, v: 'abc', c: 'x' }] });
      expect(await put({ table, key: ['id'], mode, rows: [{ id: 1, v: 'abc', c: 'x' }] })).toEqual(told(0, 0, 1));
      await expect(put({ table, key: ['id'], mode, rows: [{ id: 1, v: 'abcd', c: 'x' }] })).rejects.toMatchObject({ code: '22001' });
      await expect(put({ table, key: ['id'], mode, rows: [{ id: 1, v: 'abc', c: 'xyzw' }] })).rejects.toMatchObject({ code: '22001' });
    });

    it('a partitioned table is written as any other', async () => {
      const table = await stage.table('parted', 'id int PRIMARY KEY, n int) PARTITION BY RANGE (id');
      await stage.pool.query(`CREATE TABLE ${table}_a PARTITION OF ${table} FOR VALUES FROM (0) TO (10);
        CREATE TABLE ${table}_b (n int, id int NOT NULL); ALTER TABLE ${table} ATTACH PARTITION ${table}_b FOR VALUES FROM (10) TO (20)`);
      const load = (n: number) =>
        put({
          table,
          key: ['id'],
          mode,
          rows: [
            { id: 1, n: 1 },
            { id: 11, n },
          ],
        });
      const tells = stage.version >= (mode === 'merge' ? 170_000 : 180_000);
      expect(await load(1)).toEqual({ ...told(2, 0, 0), ...(tells ? {} : { inserted: undefined, updated: undefined }) });
      expect(await load(2)).toMatchObject({ written: 1, unchanged: 1 });
      expect(await stage.rows(`SELECT id, n FROM ${table} ORDER BY id`)).toEqual([
        { id: 1, n: 1 },
        { id: 11, n: 2 },
      ]);
    });

    it('S2 a writer of another kind that inserts the same rows in between is waited for', async () => {
      const table = await stage.table('between', 'id int PRIMARY KEY, n int');
      const other = await stage.pool.connect();
      await other.query(`BEGIN; INSERT INTO ${table} VALUES (2, 1)`);
      const writing = put({ table, key: ['id'], mode, rows: [1, 2, 3].map((id) => ({ id, n: 7 })) });
      await stage.waits();
      await other.query('COMMIT');
      other.release();
      expect(await writing).toEqual(told(2, 1, 0));
      expect(await stage.rows(`SELECT n FROM ${table}`)).toEqual([{ n: 7 }, { n: 7 }, { n: 7 }]);
    });

    it('S2 32 writers at once, of the same rows in different orders: one of each stands', async () => {
      const table = await stage.table('raced', 'id int PRIMARY KEY, a int, b int');
      const rows = Array.from({ length: 200 }, (_, id) => ({ id, a: id, b: 0 }));
      const shuffled = (by: number) => rows.map((each) => ({ ...each, b: by % 4 })).sort(() => Math.random() - 0.5);
      await Promise.all(Array.from({ length: 32 }, (_, n) => put({ table, key: ['id'], mode, rows: shuffled(n) })));
      expect(await stage.rows(`SELECT count(*), count(DISTINCT id) AS ids, count(DISTINCT b) AS writers FROM ${table} WHERE a = id`)).toEqual([
        { count: '200', ids: '200', writers: '1' },
      ]);
    });
  });
});
