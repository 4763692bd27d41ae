import { describe, expect, it } from 'vitest';
import { fencedClaim, fencedTransaction, loadStaging, type UpsertOptions, upsert } from '../../src/stores/postgres/index.ts';
import type { Queryable } from '../../src/stores/postgres/query.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage } from './postgres-stage.ts';

/** A server of another version, as far as can be seen. */
const pretending = (tx: Queryable, version: number): Queryable => ({
  async query(text, values) {
    const answer = await tx.query(text, values);
    return { ...answer, rows: answer.rows.map((row) => ('version' in row ? { ...row, version: String(version) } : row)) };
  },
});

describe.runIf(await postgresAvailable())('what is refused before it is sent to PostgreSQL', () => {
  const stage = fencedStage();
  const keyed = (): Promise<string> => stage.table('keyed', 'id int, at timestamptz, data bytea, note text, fence bigint, PRIMARY KEY (id, at)');

  async function refusal(options: Partial<UpsertOptions>): Promise<string> {
    const sent: string[] = [];
    const tx: Queryable = { query: async (text) => Promise.reject(sent.push(text)) };
    const problem = await upsert(tx, { table: 'keyed', key: ['id'], rows: [], ...options } as UpsertOptions).catch((error) => error);
    expect(problem).toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(sent).toEqual([]);
    return problem.message;
  }

  it.each<[string, readonly object[], string]>([
    ['twice as a number and a string', [{ id: 1 }, { id: 2 }, { id: '1' }], 'rows 0 and 2 have the same key'],
    ['twice as a big integer', [{ id: 2 }, { id: 1n }, { id: 1 }], 'rows 1 and 2 have the same key'],
    ['twice as a date', [{ id: new Date(7) }, { id: new Date(7) }], 'rows 0 and 1 have the same key'],
    ['twice as bytes', [{ id: Buffer.from('ab') }, { id: new Uint8Array([97, 98]) }], 'rows 0 and 1 have the same key'],
    ['with null in the key', [{ id: 1 }, { id: null }], 'row 1 has null in the column id, which is in the key'],
    ['with undefined in it', [{ id: 1, note: undefined }], 'row 0 has undefined in the column note'],
    ['with a column more', [{ id: 1 }, { id: 2, note: 'x' }], 'row 1 differs from row 0 in the column note'],
    ['with a column less', [{ id: 1, note: 'x' }, { id: 2 }], 'row 1 differs from row 0 in the column note'],
    ['without the key', [{ note: 'x' }], 'id is in the key, and is not among the columns'],
    ['that is none', [{ id: 1 }, null as never], 'row 1 must be an object'],
    ['with a name that PostgreSQL would cut', [{ id: 1, ['ä'.repeat(32)]: 1 }], 'must be a name of 1 to 63 bytes'],
  ])('S2 a row %s', async (_, rows, message) => {
    expect(await refusal({ rows: rows as UpsertOptions['rows'] })).toContain(message);
  });

  it('tells no values of rows: they may be about people', async () => {
    const rows = [{ id: 'jane@example.org' }, { id: 'jane@example.org' }, { id: null }];
    expect(await refusal({ rows: rows.slice(0, 2) })).not.toContain('jane');
    expect(await refusal({ rows })).not.toContain('jane');
  });

  it.each<[string, Partial<UpsertOptions> & object, string]>([
    ['the fence among the columns', { fence: { token: 1 }, rows: [{ id: 1, fence: 2 }] }, "the column fence is the fence's"],
    ['an update of the key', { update: ['id'], rows: [{ id: 1 }] }, 'update: id is in the key'],
    ['an update of what is not given', { update: ['note'], rows: [{ id: 1 }] }, 'update: note is not among the columns'],
    ['no key', { key: [] }, 'key must be an array of columns'],
    ['a column twice in the key', { key: ['id', 'id'] }, 'key names a column twice'],
    ['another mode', { mode: 'replace' as never }, "mode must be 'on conflict' or 'merge'"],
    ['a misspelt option', { tabel: 'keyed' } as never, 'tabel is not an option'],
    ['a fence that is none', { fence: { token: '7' as never } }, 'token must be a whole number'],
    ['a table that is none', { table: 'a\0b' }, 'table must be a name'],
    ['a schema that is none', { schema: '' }, 'schema must be a name'],
  ])('%s', async (_, options, message) => {
    expect(await refusal(options)).toContain(message);
  });

  it('S6 a pool instead of a connection: what one statement locks would be free before the next', async () => {
    const table = await keyed();
    const noTransaction = { code: 'INVALID_OPTIONS', message: expect.stringContaining('BEGIN') };
    await expect(upsert(stage.pool, { table, key: ['id', 'at'], rows: [{ id: 1, at: new Date(0) }] })).rejects.toMatchObject(noTransaction);
    await expect(loadStaging(stage.pool, { from: table, into: table, key: ['id', 'at'] })).rejects.toMatchObject(noTransaction);
    const client = await stage.pool.connect();
    await expect(upsert(client, { table, key: ['id', 'at'], rows: [{ id: 1, at: new Date(0) }] })).rejects.toMatchObject(noTransaction);
    client.release();
    expect(await stage.rows(`SELECT * FROM ${table}`)).toEqual([]);
  });

  it('MERGE before PostgreSQL 15, with what to do instead', async () => {
    const table = await keyed();
    const rows = [{ id: 1, at: new Date(0) }];
    const old = inTransaction(stage.pool, {}, (tx) => upsert(pretending(tx, 140_012), { table, key: ['id', 'at'], rows, mode: 'merge' }));
    await expect(old).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('needs PostgreSQL 15 or later, and this is 14'),
    });
  });

  it('MERGE of PostgreSQL 15 and 16 writes the same, and does not tell inserted from updated', async () => {
    const table = await keyed();
    const into = await keyed();
    const rows = [1, 2].map((id) => ({ id, at: new Date(0), note: 'x' }));
    const key = ['id', 'at'];
    const unknown = { inserted: undefined, updated: undefined };
    await inTransaction(stage.pool, {}, async (tx) => {
      const old = pretending(tx, 160_004);
      expect(await upsert(old, { table, key, rows, mode: 'merge' })).toEqual({ written: 2, unchanged: 0, ...unknown });
      expect(await upsert(old, { table, key, rows, mode: 'merge' })).toEqual({ written: 0, unchanged: 2, ...unknown });
      const load = { from: table, into, key, mode: 'merge', columns: ['id', 'at', 'note'] } as const;
      expect(await loadStaging(old, load)).toEqual({ written: 2, unchanged: 0, ...unknown });
      expect(await loadStaging(old, { ...load, fence: { token: 5 } })).toEqual({ written: 2, unchanged: 0, ...unknown });
      await expect(loadStaging(old, { ...load, fence: { token: 4 } })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await tx.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey; INSERT INTO ${table} SELECT * FROM ${table}`);
      await expect(loadStaging(old, load)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', facts: { doubled: 2 } });
    });
  });

  it('a key that nothing keeps unique: two calls at once would both insert', async () => {
    const table = await stage.table('loose', 'id int, n int, gone boolean');
    const go = (mode: 'merge' | 'on conflict', key = ['id']) =>
      inTransaction(stage.pool, {}, (tx) => upsert(tx, { table, key, mode, rows: [{ id: 1, n: 1 }] }));
    const loose = { code: 'INVALID_OPTIONS', message: expect.stringContaining('no primary key or unique index') };
    await expect(go('merge')).rejects.toMatchObject(loose);
    await expect(go('on conflict')).rejects.toMatchObject({ code: '42P10' });
    await stage.pool.query(
      `CREATE UNIQUE INDEX ON ${table} (id) WHERE NOT gone; CREATE UNIQUE INDEX ON ${table} ((id + 0)); CREATE UNIQUE INDEX ON ${table} (id, n)`,
    );
    await expect(go('merge')).rejects.toMatchObject(loose);
    await go('merge', ['id', 'n']);
    await stage.pool.query(`CREATE UNIQUE INDEX ON ${table} (id) INCLUDE (gone)`);
    await go('merge');
    expect(await stage.rows(`SELECT id FROM ${table}`)).toEqual([{ id: 1 }]);
  });

  it.each([
    ['upsert', () => upsert({} as never, { table: 'keyed', key: ['id'], rows: [] })],
    ['loadStaging', () => loadStaging({} as never, { from: 'a', into: 'b', key: ['id'] })],
    ['loadStaging without a key', () => loadStaging(stage.pool, { from: 'a', into: 'b' } as never)],
    ['fencedClaim without a key', () => fencedClaim(stage.pool, { table: 'a', key: {}, fence: { token: 1 } })],
    ['fencedClaim with null in the key', () => fencedClaim(stage.pool, { table: 'a', key: { id: null }, fence: { token: 1 } })],
    ['fencedClaim without a fence', () => fencedClaim(stage.pool, { table: 'a', key: { id: 1 } } as never)],
    ['fencedTransaction without work', () => fencedTransaction(stage.pool, { id: 'a', owner: 'o', token: 1 }, undefined as never)],
    ['fencedTransaction without a fence', () => fencedTransaction(stage.pool, undefined as never, async () => {})],
    [
      'fencedTransaction with a token that is no number',
      () => fencedTransaction(stage.pool, { id: 'a', owner: 'o', token: '1' as never }, async () => {}),
    ],
    [
      'fencedTransaction with a signal that is none',
      () => fencedTransaction(stage.pool, { id: 'a', owner: 'o', token: 1 }, async () => {}, { signal: new AbortController() as never }),
    ],
  ])('%s', async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
