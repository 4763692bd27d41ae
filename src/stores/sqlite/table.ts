/**
 * How a record lies in a row.
 *
 * @module
 */
import type { Rule } from '../../core/options.ts';
import { COLUMNS, fromRow, type RecordToWrite, type StoredRecord, toRow } from '../../core/record.ts';

export const DEFAULT_TABLE_NAME = 'rerunsafe';

/** Nothing that would have to be quoted, so that it can be typed at the shell of SQLite too. */
export const isTableName: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(value) && !/^sqlite_/i.test(value)
    ? undefined
    : 'must be 1 to 63 letters, digits and underscores, must not begin with a digit or sqlite_';

type Column = keyof typeof COLUMNS;
type Value = string | number | null;

const NAMES = Object.keys(COLUMNS) as Column[];
const OPTIONAL: ReadonlySet<Column> = new Set(['label', 'fingerprint', 'holder', 'slot', 'body']);

export interface Sql {
  readonly setUp: readonly string[];
  readonly find: string;
  readonly insert: string;
  readonly update: string;
  readonly remove: string;
  /** A page of rows without their bodies, in the order of their ids. */
  readonly page: string;
  readonly pageOfOperation: string;
  /** Of a fence. */
  readonly holder: string;
}

export function sqlFor(tableName: string): Sql {
  const columns = NAMES.map((name) => `${name} ${COLUMNS[name] === 'number' ? 'INTEGER' : 'TEXT'}${OPTIONAL.has(name) ? '' : ' NOT NULL'}`);
  const light = NAMES.filter((name) => name !== 'body');
  const page = (where: string): string => `SELECT id, ${light.join(', ')} FROM "${tableName}" WHERE ${where}id > ? ORDER BY id LIMIT ?`;
  return {
    // The body comes last: looking through the rows then reads none of the pages it spills over to.
    setUp: [
      `CREATE TABLE IF NOT EXISTS "${tableName}" (id TEXT NOT NULL PRIMARY KEY, ${columns.join(', ')}) STRICT`,
      `CREATE INDEX IF NOT EXISTS "${tableName}_operation" ON "${tableName}" (operation, id)`,
    ],
    find: `SELECT * FROM "${tableName}" WHERE id = ?`,
    insert: `INSERT INTO "${tableName}" (id, ${NAMES.join(', ')}) VALUES (?${', ?'.repeat(NAMES.length)}) ON CONFLICT (id) DO NOTHING`,
    update: `UPDATE "${tableName}" SET ${NAMES.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND revision = ?`,
    remove: `DELETE FROM "${tableName}" WHERE id = ? AND revision = ?`,
    page: page(''),
    pageOfOperation: page('operation = ? AND '),
    holder: `SELECT owner, token FROM "${tableName}" WHERE id = ?`,
  };
}

/** In the order of the columns. Whole numbers only: a lease is rounded up, so that it never ends before its owner thinks. */
export function toValues(record: RecordToWrite, writtenAtMs: number): Value[] {
  const row = toRow({ ...record, writtenAtMs });
  return NAMES.map((name) => {
    const value = row[name];
    return typeof value === 'number' ? Math.ceil(value) : (value ?? null);
  });
}

export const bytesOf = (values: readonly Value[]): number =>
  values.reduce<number>((bytes, value) => bytes + (typeof value === 'string' ? Buffer.byteLength(value) : 8), 0);

export const toRecord = (row: Readonly<Record<string, unknown>>): StoredRecord =>
  fromRow(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
