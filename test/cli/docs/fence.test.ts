import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { blocksOf } from './recipes.ts';

/** As psql does with `:'name'`; what it does with `\gset` was looked at by hand: without a row it ends with 3. */
function asked(name: 'token' | 'total', value: string, text: string): string {
  return text.replaceAll(`:'${name}'`, `'${value}'`);
}

describe('the fence of a script', () => {
  let server: PostgresServer;
  let pool: Pool;
  beforeAll(async () => {
    server = await startPostgres();
    pool = (await server.database()).pool(1);
    await pool.query(
      "CREATE TABLE report (day date PRIMARY KEY, total numeric, token bigint NOT NULL DEFAULT 0); INSERT INTO report VALUES ('2026-03-01')",
    );
  });
  afterAll(() => server?.stop());

  it('I4 the statement of the page writes for the newest token, and for no older one and none at all', async () => {
    const [block = ''] = blocksOf('Fencing inside a script', 'sql');
    expect(block).toMatch(/ \\gset written_\n$/);
    const write = async (token: string, total: string): Promise<number> =>
      (await pool.query(asked('token', token, asked('total', total, block.replace(/\\gset.*/, ''))))).rowCount ?? -1;
    expect(await write('1796048870126', '1')).toBe(1);
    expect(await write('1796048870126', '2')).toBe(1);
    expect(await write('1796048870127', '3')).toBe(1);
    expect(await write('1796048870126', '4')).toBe(0);
    await expect(write('', '5')).rejects.toThrow(/invalid input syntax/);
    expect((await pool.query('SELECT total, token FROM report')).rows).toEqual([{ total: '3', token: '1796048870127' }]);
  });
});
