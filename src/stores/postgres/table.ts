/**
 * How a record lies in a row, and the statements on it: one for each transition, which brings back what stands there when it was refused.
 *
 * @module
 */
import { COLUMNS, fromRow, type RecordId, type RecordToWrite, type StoredRecord, toRow } from '../../core/record.ts';
import { escaped, unescaped } from './text.ts';

type Column = keyof typeof COLUMNS;
type Value = string | number | null;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** Stamped by the server, in the statement. */
const NAMES = (Object.keys(COLUMNS) as Column[]).filter((name) => name !== 'writtenAtMs');
/** Ours, by their names in SQL. */
const BY_SQL_NAME: ReadonlyMap<string, Column> = new Map((Object.keys(COLUMNS) as Column[]).map((name) => [snake(name), name]));
/** All but the body, which may be megabytes. */
const LIGHT = [...BY_SQL_NAME.keys()].filter((name) => name !== 'body');

/** The server's time, epoch ms. Never now(): that stands still in a transaction. */
export const NOW_MS = '(floor(extract(epoch FROM clock_timestamp()) * 1000)::int8)';

export interface Sql {
  /** `$1` id. Always a row: `now_ms`, and the record's columns, null when there is none. */
  readonly find: string;
  /** `$1` lock limit (ms, text), `$2` id, `$3`… {@link toValues}. A row of `now_ms`, `written_token`, and what stands there when that is null. */
  readonly create: string;
  /** `$1` lock limit, `$2` id, `$3` the revision that must stand, `$4`… {@link toValues}. The same. */
  readonly replace: string;
  /** `$1` lock limit, `$2` id, `$3` the revision that must stand. The same. */
  readonly remove: string;
  /** As `create` for many: `$2` ids, then a list for each of {@link toValues}. A row for each, in any order, `asked_id` tells whose. */
  readonly createAll: string;
  /** As `replace` for many: `$2` ids, `$3` the revisions that must stand, then the lists. The same. */
  readonly replaceAll: string;
  /** `$1` id. `owner` and `token` of a fence. */
  readonly holder: string;
}

/** Where {@link toValues} begins with parameter `$first`. */
export const parametersFrom = (first: number): readonly string[] => NAMES.map((name, at) => cast(name, `$${first + at}`));
const cast = (name: Column, parameter: string): string => `${parameter}::${COLUMNS[name] === 'string' ? 'text' : 'int8'}`;

/** The columns that {@link toValues} gives values for, in that order. */
export const WRITTEN_COLUMNS: readonly string[] = NAMES.map(snake);
const AT = { token: NAMES.indexOf('token') };

/** `table`: quoted, and with its schema where it has one. */
export function sqlFor(table: string): Sql {
  // A row lock is awaited by whatever limit holds when the wait begins: set in the statement itself, it reaches the server through every pooler, and
  // ends with the statement. Nothing is written before this row is there.
  const asked = `asked AS MATERIALIZED (SELECT set_config('lock_timeout', $1, true) AS lock_limit, ${NOW_MS} AS now_ms)`;
  const conditional = (statement: string): string =>
    `WITH ${asked}, written AS (${statement} RETURNING r.token)
SELECT asked.now_ms, written.token AS written_token, s.* FROM asked LEFT JOIN written ON true LEFT JOIN ${table} AS s ON s.id = $2 AND written.token IS NULL`;
  const conditionalAll = (condition: '' | 'expected, ', statement: string): string => {
    const lists = condition === '' ? ['$2::text[]'] : ['$2::text[]', '$3::text[]'];
    const all = [...lists, ...parametersFrom(2 + lists.length).map((parameter) => `${parameter}[]`)].join(', ');
    return `WITH ${asked}, given AS MATERIALIZED (SELECT * FROM unnest(${all}) AS g (id, ${condition}${WRITTEN_COLUMNS.join(', ')})), written AS (${statement} RETURNING r.id, r.token)
SELECT asked.now_ms, g.id AS asked_id, written.token AS written_token, s.* FROM asked CROSS JOIN given AS g LEFT JOIN written ON written.id = g.id LEFT JOIN ${table} AS s ON s.id = CASE WHEN written.token IS NULL THEN g.id END`;
  };
  const given = WRITTEN_COLUMNS.map((name) => (name === 'token' ? 'greatest(g.token, asked.now_ms)' : `g.${name}`));
  const first = parametersFrom(3).map((value, at) => (at === AT.token ? `greatest(${value}, asked.now_ms)` : value));
  const changes = parametersFrom(4).map((value, at) => `${WRITTEN_COLUMNS[at]} = ${value}`);
  return {
    find: `SELECT ${NOW_MS} AS now_ms, s.* FROM (SELECT 1) AS one LEFT JOIN ${table} AS s ON s.id = $1`,
    create: conditional(
      `INSERT INTO ${table} AS r (id, ${WRITTEN_COLUMNS.join(', ')}, written_at_ms) SELECT $2::text, ${first.join(', ')}, asked.now_ms FROM asked ON CONFLICT (id) DO NOTHING`,
    ),
    replace: conditional(
      `UPDATE ${table} AS r SET ${changes.join(', ')}, written_at_ms = asked.now_ms FROM asked WHERE r.id = $2 AND r.revision = $3`,
    ),
    createAll: conditionalAll(
      '',
      `INSERT INTO ${table} AS r (id, ${WRITTEN_COLUMNS.join(', ')}, written_at_ms) SELECT g.id, ${given.join(', ')}, asked.now_ms FROM given AS g CROSS JOIN asked ORDER BY g.id ON CONFLICT (id) DO NOTHING`,
    ),
    replaceAll: conditionalAll(
      'expected, ',
      `UPDATE ${table} AS r SET ${WRITTEN_COLUMNS.map((name) => `${name} = g.${name}`).join(', ')}, written_at_ms = asked.now_ms FROM given AS g CROSS JOIN asked WHERE r.id = g.id AND r.revision = g.expected`,
    ),
    remove: conditional(`DELETE FROM ${table} AS r USING asked WHERE r.id = $2 AND r.revision = $3`),
    holder: `SELECT owner, token FROM ${table} WHERE id = $1`,
  };
}

export const lightColumns = (alias: string): string => ['id', ...LIGHT].map((name) => `${alias}.${name}`).join(', ');

/** In the order of {@link WRITTEN_COLUMNS}. Whole numbers only: a lease is rounded up, so that it never ends before its owner thinks. */
export function toValues(record: RecordToWrite): Value[] {
  const row = toRow({ ...record, writtenAtMs: 0 });
  return NAMES.map((name) => {
    const value = row[name];
    if (typeof value === 'number') return Math.ceil(value);
    // The body is JSON, which escapes by itself what PostgreSQL cannot hold.
    return value === undefined ? null : name === 'body' ? value : escaped(value);
  });
}

export const bytesOf = (values: readonly Value[]): number =>
  values.reduce<number>((bytes, value) => bytes + (typeof value === 'string' ? Buffer.byteLength(value) : 8), 0);

export const idOf = (row: Readonly<Record<string, unknown>>): RecordId => String(row.id);

/** Other columns of the row are left alone. */
export function toRecord(row: Readonly<Record<string, unknown>>): StoredRecord {
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    const column = BY_SQL_NAME.get(name);
    if (column === undefined || value === null) continue;
    // An int8 comes as a string, or as whatever the caller's own type parser makes of it.
    if (COLUMNS[column] === 'number') columns[column] = Number(value);
    else columns[column] = column === 'body' ? value : unescaped(String(value));
  }
  return fromRow(columns);
}
