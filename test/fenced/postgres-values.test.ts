import { beforeAll, describe, expect, it } from 'vitest';
import { fencedClaim, fencedTransaction, loadStaging, type UpsertOptions, upsert } from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

/** Column types, and values of each that something on the way could lose. */
const VALUES: readonly [type: string, values: readonly unknown[]][] = [
  ['bigint', ['9223372036854775807', 9007199254740993n, -1]],
  ['numeric', ['123456789012345678901234567890.123456789', '1.00', 'NaN', 0.1]],
  ['numeric(10,2)', ['1.005', 1.5, '2']],
  ['double precision', [0.1, Number.MAX_VALUE, -0, Number.NaN, Number.POSITIVE_INFINITY]],
  ['bytea', [Buffer.from([0, 255, 92, 39]), new Uint8Array([1, 2]), Buffer.alloc(0)]],
  ['timestamptz', [new Date('2026-03-29T01:30:00.123Z'), '2026-10-25 02:30:00.123456+02', 'infinity']],
  ['timestamp', [new Date('2026-03-01T12:00:00.5Z'), '2026-03-01 12:00:00.123456']],
  ['timestamptz(0)', [new Date('2026-03-01T12:00:00.5Z')]],
  ['date', ['2026-02-28', '-infinity']],
  ['interval', ['1 mon -3 days 04:05:06.789']],
  ['text', ['', "it's", '\\x41', '\u{1F600}', 'Имя', '\t\n', '1', 'NULL', '{}']],
  ['varchar(5)', ['abcde']],
  ['char(5)', ['ab']],
  ['boolean', [true, false, 't']],
  ['uuid', ['6f1d4c9e-9c1f-4f57-8a53-0d8b7f0f3c11']],
  ['json', ['{"b": 1,  "a": "\\u0000"}', { nested: { a: [1, null] } }, '"text"', 'null']],
  ['jsonb', ['[1, 2.50, "x"]', { b: 1, a: 12345678901234567890n.toString() }]],
  ['int[]', [[1, null, 3], [], '{{1,2},{3,4}}']],
  ['text[]', [['a,b', 'c"d', '\\', 'NULL', '']]],
  ['int4range', ['[1,5)']],
  ['inet', ['10.0.0.1/8']],
  ['point', ['(1,2)']],
  ['xml', ['<a/>']],
  ['mood', ['so-so']],
  ['short', ['abc']],
  ['pair', ['(1,"a b")']],
];
const ODD = [
  'order',
  'we"ird',
  'Имя',
  "o'clock",
  'a b',
  'x"; DROP TABLE victim; --',
  '$1',
  'old',
  'excluded',
  'xmax_',
  'rerunsafe_target',
  '"',
  '\\',
];

describe.runIf(await postgresAvailable())('values and names on their way to PostgreSQL', () => {
  const stage = fencedStage();
  const put = (options: UpsertOptions) => inTransaction(stage.pool, {}, (tx) => upsert(tx, options));
  beforeAll(async () => {
    await stage.pool.query(`CREATE TYPE mood AS ENUM ('so-so', 'fine'); CREATE DOMAIN short AS varchar(3) CHECK (value <> 'no'); CREATE TYPE pair AS (n int, t text);
      CREATE TABLE victim (n int); INSERT INTO victim VALUES (1)`);
  });

  describe.each(['on conflict', 'merge'] as const)('%s', (mode) => {
    it.each(VALUES)(
      '%s stands there as a plain INSERT with the same parameter leaves it, and the same again changes nothing',
      async (type, values) => {
        const plain = await stage.table('plain', `id int PRIMARY KEY, v ${type}`);
        const upserted = await stage.table('upserted', `id int PRIMARY KEY, v ${type}`);
        const loaded = await stage.table('loaded', `id int PRIMARY KEY, v ${type}`);
        const rows = [...values, null].map((v, id) => ({ id, v }));
        for (const { id, v } of rows) await stage.pool.query(`INSERT INTO ${plain} VALUES ($1, $2)`, [id, v]);
        const load = () => inTransaction(stage.pool, {}, (tx) => loadStaging(tx, { from: plain, into: loaded, key: ['id'], mode }));
        const all = (table: string) => stage.rows(`SELECT id, v::text, v::text COLLATE "C" AS c FROM ${table} ORDER BY id`);
        await put({ table: upserted, key: ['id'], mode, rows });
        await load();
        expect(await all(upserted)).toEqual(await all(plain));
        expect(await all(loaded)).toEqual(await all(plain));
        expect(await put({ table: upserted, key: ['id'], mode, rows })).toMatchObject({ written: 0, unchanged: rows.length });
        expect(await load()).toMatchObject({ written: 0, unchanged: rows.length });
        // Over one that stands there, too.
        await put({ table: upserted, key: ['id'], mode, rows: rows.map(({ id }) => ({ id, v: null })) });
        await put({ table: upserted, key: ['id'], mode, rows });
        expect(await all(upserted)).toEqual(await all(plain));
      },
    );

    it('what is equal to PostgreSQL and is not the same is written', async () => {
      const table = await stage.table('equal', 'id int PRIMARY KEY, n numeric, i interval, f float8');
      await put({ table, key: ['id'], mode, rows: [{ id: 1, n: '1.0', i: '24:00', f: 0 }] });
      expect(await put({ table, key: ['id'], mode, rows: [{ id: 1, n: '1.00', i: '1 day', f: '-0' }] })).toMatchObject({ written: 1 });
      expect(await stage.rows(`SELECT n::text, i::text, f::text FROM ${table}`)).toEqual([{ n: '1.00', i: '1 day', f: '-0' }]);
    });

    it('tables, columns and schemas may be named anything', async () => {
      for (const name of ODD) {
        const [table, column] = [`${name} t`, `${name} c`].map((each) => `"${each.replaceAll('"', '""')}"`);
        const schema = `"${`s ${name}`.replaceAll('"', '""')}"`;
        await stage.pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}; DROP TABLE IF EXISTS ${schema}.${table};
          CREATE TABLE ${schema}.${table} ("${name.replaceAll('"', '""')}" text PRIMARY KEY, ${column} text, fence bigint)`);
        const place = { table: `${name} t`, schema: `s ${name}` };
        const key = [name];
        const row = { [name]: name, [`${name} c`]: name };
        for (const token of [1, 1, 2]) await put({ ...place, key, mode, rows: [row], fence: { token } });
        expect(await fencedClaim(stage.pool, { ...place, key: { [name]: name }, fence: { token: 3 } })).toEqual({ ...row, fence: '3' });
        await expect(put({ ...place, key, mode, rows: [row], fence: { token: 2 } })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
        const load = { from: place.table, fromSchema: place.schema, into: place.table, schema: place.schema, key, mode };
        expect(await inTransaction(stage.pool, {}, (tx) => loadStaging(tx, { ...load, fence: { token: 3 } }))).toMatchObject({ unchanged: 1 });
      }
      expect(await stage.rows('SELECT * FROM victim')).toEqual([{ n: 1 }]);
    });

    it.each(["'; DROP TABLE victim; --", '1); DELETE FROM victim; SELECT (1', '$1', "\\'; DELETE FROM victim; --", "E'\\x27'"])(
      'a value is never read as SQL: %s',
      async (evil) => {
        const table = await stage.table('evil', 'k text PRIMARY KEY, v text, fence bigint');
        await put({ table, key: ['k'], mode, rows: [{ k: evil, v: evil }] });
        await put({ table, key: ['k'], mode, rows: [{ k: evil, v: evil }], fence: { token: 1, id: evil } });
        expect(await fencedClaim(stage.pool, { table, key: { k: evil }, fence: { token: 2, id: evil } })).toEqual({ k: evil, v: evil, fence: '2' });
        expect(await stage.rows('SELECT * FROM victim')).toEqual([{ n: 1 }]);
      },
    );
  });

  it('a name is one name: what is not there is not there, and nothing else happens', async () => {
    const evil = 'victim"; DROP TABLE victim; --';
    await expect(put({ table: evil, key: ['n'], rows: [{ n: 1 }] })).rejects.toMatchObject({ code: '42P01' });
    await expect(put({ table: 'victim', schema: evil, key: ['n'], rows: [{ n: 1 }] })).rejects.toThrow('does not exist');
    await expect(put({ table: 'victim', key: [evil], rows: [{ [evil]: 1 }] })).rejects.toMatchObject({ code: '42703' });
    await expect(fencedClaim(stage.pool, { table: 'victim', key: { [evil]: 1 }, fence: { token: 1 } })).rejects.toMatchObject({ code: '42703' });
    await expect(fencedClaim(stage.pool, { table: 'victim', key: { n: 1 }, fence: { token: 1, column: evil } })).rejects.toMatchObject({
      code: '42703',
    });
    const fence = { id: evil, owner: evil, token: 1 };
    await expect(fencedTransaction(stage.pool, fence, async () => {})).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await expect(fencedTransaction(stage.pool, fence, async () => {}, { tableName: evil })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    await expect(fencedTransaction(stage.pool, fence, async () => {}, { schema: evil })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(await stage.rows('SELECT * FROM victim')).toEqual([{ n: 1 }]);
  });
});
