import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { sqliteStore } from 'rerunsafe/sqlite';
import { databaseFolder } from '../../../test/support/sqlite-file.ts';
import { type Place, type Row, templateOf, type Writes } from '../place.ts';

export async function sqlitePlace(): Promise<Place> {
  const folder = await databaseFolder();
  const database = new DatabaseSync(folder.path);
  // As the store sets up a file of its own.
  database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const store = sqliteStore({ database });
  await store.setUp();
  const stop = async (): Promise<void> => {
    await store.close();
    database.close();
    await folder.remove();
  };
  return { name: 'SQLite', store, writes: () => sqliteWrites(store, database), stop };
}

type Columns = Readonly<Record<string, SQLInputValue>>;

async function sqliteWrites(store: Place['store'], database: DatabaseSync): Promise<Writes> {
  const find = database.prepare('SELECT * FROM rerunsafe WHERE id = ?');
  const { running, completed } = await templateOf(store, async (id): Promise<Columns> => find.get(id) ?? {});
  const names = Object.keys(running);
  const insert = database.prepare(
    `INSERT INTO rerunsafe (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT (id) DO NOTHING`,
  );
  const update = database.prepare(`UPDATE rerunsafe SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND revision = ?`);
  const valuesOf = (template: Columns, row: Row): SQLInputValue[] => {
    const columns: Columns = { ...template, ...row, writtenAtMs: Date.now() };
    return names.map((name) => columns[name] ?? null);
  };
  return {
    async create(row) {
      return insert.run(...valuesOf(running, row)).changes === 1 ? { version: row.revision } : { standing: find.get(row.id) };
    },
    async complete(row, over) {
      if (update.run(...valuesOf(completed, row), row.id, over).changes !== 1) throw new Error('it was not there');
    },
  };
}
