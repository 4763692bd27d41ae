import type { Pool } from 'pg';
import { postgresStore } from 'rerunsafe/postgres';
import { startPostgres } from '../../../test/support/postgres.ts';
import { type Place, type Row, templateOf, type Writes } from '../place.ts';

export async function postgresPlace(): Promise<Place> {
  // As it is set up by default: an answer means that it is on the disk.
  const server = await startPostgres({ durable: true });
  const database = await server.database();
  const pool = database.pool();
  const store = postgresStore({ pool, preparedStatements: true });
  await store.setUp();
  return { name: 'PostgreSQL', store, writes: () => postgresWrites(store, pool), stop: () => server.stop() };
}

type Columns = Readonly<Record<string, unknown>>;

/** The row is stamped by the server's clock, as ours is. */
const STAMP = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::int8';

async function postgresWrites(store: Place['store'], pool: Pool): Promise<Writes> {
  const { running, completed } = await templateOf(store, async (id) => {
    const { rows } = await pool.query<Record<string, unknown>>('SELECT * FROM rerunsafe WHERE id = $1', [id]);
    return rows[0] ?? {};
  });
  const names = Object.keys(running).filter((name) => name !== 'written_at_ms');
  const valuesOf = (template: Columns, row: Row): unknown[] => {
    const columns: Columns = { ...template, ...row };
    return names.map((name) => columns[name]);
  };
  const columns = `${names.join(', ')}, written_at_ms`;
  const parameters = `${names.map((_, at) => `$${at + 1}`).join(', ')}, ${STAMP}`;
  const insert = `INSERT INTO rerunsafe (${columns}) VALUES (${parameters}) ON CONFLICT (id) DO NOTHING`;
  const changes = names.map((name, at) => `${name} = $${at + 1}`).join(', ');
  const update = `UPDATE rerunsafe SET ${changes}, written_at_ms = ${STAMP} WHERE id = $${names.length + 1} AND revision = $${names.length + 2}`;
  return {
    async create(row) {
      const { rowCount } = await pool.query(insert, valuesOf(running, row));
      return rowCount === 1 ? { version: row.revision } : { standing: (await pool.query('SELECT * FROM rerunsafe WHERE id = $1', [row.id])).rows[0] };
    },
    async complete(row, over) {
      const { rowCount } = await pool.query(update, [...valuesOf(completed, row), row.id, over]);
      if (rowCount !== 1) throw new Error('it was not there');
    },
  };
}
