/**
 * Rows before they are sent: alike, each with a key of its own, in an order that all writers share, and in batches that PostgreSQL takes.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Parameters are numbered by 16 bits. One is the token. */
export const MOST_VALUES = 65_535 - 1;

/**
 * @returns the values of one statement each, row by row
 * @throws RerunSafeError `INVALID_OPTIONS`. It tells rows by their number, from 0, and no values: those may be about people.
 */
export function checkRows(what: string, rows: readonly unknown[], columns: readonly string[], key: readonly string[]): (readonly unknown[])[][] {
  const problems: string[] = [];
  const known = new Set(columns);
  for (const [n, row] of rows.entries()) {
    if (problems.length >= MOST_PROBLEMS) break;
    const wrong = rowProblem(row, known, key);
    if (wrong !== undefined) problems.push(`row ${n} ${wrong}`);
  }
  if (problems.length > 0) throw invalidOptions(what, problems);
  const keyed = (rows as readonly Row[]).map((row, n) => ({ row, n, id: JSON.stringify(key.map((column) => textOf(row[column]))) }));
  // Two writers that lock the same rows in another order wait for each other until PostgreSQL ends one of them.
  keyed.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.n - b.n));
  const doubled = keyed.findIndex(({ id }, n) => id === keyed[n + 1]?.id);
  if (doubled !== -1) {
    throw invalidOptions(what, [
      `rows ${keyed[doubled]?.n} and ${keyed[doubled + 1]?.n} have the same key, and which of them should stand nobody can tell`,
    ]);
  }
  const values = keyed.map(({ row }) => columns.map((column) => row[column]));
  const size = Math.max(1, Math.floor(MOST_VALUES / columns.length));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size));
}

const MOST_PROBLEMS = 5;

function rowProblem(row: unknown, columns: ReadonlySet<string>, key: readonly string[]): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return 'must be an object, column by column';
  const given = Object.entries(row);
  const other = given.find(([column]) => !columns.has(column))?.[0] ?? [...columns].find((column) => !Object.hasOwn(row, column));
  if (other !== undefined) return `differs from row 0 in the column ${other}: all rows of a call set the same columns`;
  // "Leave it as it is" and "set it to NULL" are two wishes.
  const open = given.find(([, value]) => value === undefined)?.[0];
  if (open !== undefined) return `has undefined in the column ${open}: give null, or leave the column out of all rows`;
  // No NULL equals another, so such a row would be inserted again each time.
  const empty = key.find((column) => (row as Row)[column] === null);
  return empty === undefined ? undefined : `has null in the column ${empty}, which is in the key`;
}

/** As the driver would send it, more or less: 7, 7n and '7' are one key. What is left PostgreSQL finds. */
function textOf(value: unknown): string {
  if (value instanceof Date) return String(value.getTime());
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
