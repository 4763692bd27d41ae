/**
 * The statements of upserts. Names are quoted, values are parameters; $1 is the token where there is a fence.
 *
 * @module
 */
import { asStored, keyStored, type StoredTypes } from './as-stored.ts';
import { quoted } from './names.ts';

export type Mode = 'on conflict' | 'merge';

export interface Plan {
  /** Quoted. */
  readonly table: string;
  readonly mode: Mode;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** Columns of a standing row that are set. */
  readonly update: readonly string[];
  /** Its column. */
  readonly fence: string | undefined;
  /** In SQL: what is true of an inserted row and false of an updated one. */
  readonly told: string;
  readonly types: StoredTypes;
}

/** `WITH` clauses, and what to select the columns from. */
export interface Source {
  readonly before: readonly string[];
  /** The columns of the key are as they would be stored. */
  readonly from: string;
  /** As `INSERT` takes it. */
  readonly insert: string;
  /** To be answered beside the counts. */
  readonly facts: readonly string[];
}

/** Not every server and not every table can. */
export const NOT_TOLD = 'NULL::boolean';

const T = 'rerunsafe_target';
const S = 'rerunsafe_source';
const GIVEN = 'rerunsafe_given';
const TOKEN = '$1::bigint';

const list = (columns: readonly string[], of?: string): string =>
  columns.map((column) => (of === undefined ? '' : `${of}.`) + quoted(column)).join(', ');
const same = (key: readonly string[]): string => key.map((column) => `${T}.${quoted(column)} = ${S}.${quoted(column)}`).join(' AND ');
const written = ({ columns, fence }: Plan): string => list(fence === undefined ? columns : [...columns, fence]);

/** Parameters in the order of the rows; their types are those of the table, found by PostgreSQL. */
export function rowsSource({ columns, key, fence, table, types }: Plan, count: number): Source {
  const first = fence === undefined ? 1 : 2;
  const tuples = (before: string, after: string): string =>
    Array.from(
      { length: count },
      (_, n) => `(${before}${columns.map((_column, at) => `$${first + n * columns.length + at}`).join(', ')}${after})`,
    ).join(', ');
  // Nothing tells the types of a VALUES that is not inserted, but a row of typed NULLs in front, which is then left out.
  const typed = `(false, ${columns.map((column) => `(NULL::${table}).${quoted(column)}`).join(', ')}), ${tuples('true, ', '')}`;
  return {
    before: [],
    from: `(SELECT ${keyStored(types, columns, key)} FROM (VALUES ${typed}) AS given (${GIVEN}, ${list(columns)}) WHERE ${GIVEN})`,
    insert: `VALUES ${tuples('', fence === undefined ? '' : `, ${TOKEN}`)}`,
    facts: [],
  };
}

/** A whole table, if every row of it has a key of its own; otherwise nothing, and the counts that tell why. */
export function tableSource({ columns, key, fence, types }: Plan, staging: string): Source {
  const good = '(SELECT doubled + keyless = 0 FROM rerunsafe_seen)';
  const keyless = key.map((column) => `${quoted(column)} IS NULL`).join(' OR ');
  return {
    before: [
      // Once, so that what is checked is what is loaded.
      `rerunsafe_staged AS MATERIALIZED (SELECT ${keyStored(types, columns, key)} FROM ${staging})`,
      `rerunsafe_seen AS MATERIALIZED (SELECT coalesce(sum(n), 0)::bigint AS staged, count(*) FILTER (WHERE n > 1 AND NOT keyless) AS doubled, count(*) FILTER (WHERE keyless) AS keyless FROM (SELECT count(*) AS n, (${keyless}) AS keyless FROM rerunsafe_staged GROUP BY ${list(key)}) AS keys)`,
    ],
    from: `(SELECT ${list(columns)} FROM rerunsafe_staged WHERE ${good})`,
    // In the order of the key, for the same reason as rows are.
    insert: `SELECT ${list(columns)}${fence === undefined ? '' : `, ${TOKEN}`} FROM rerunsafe_staged WHERE ${good} ORDER BY ${list(key)}`,
    facts: ['staged', 'doubled', 'keyless'].map((fact) => `(SELECT ${fact} FROM rerunsafe_seen)::text AS ${fact}`),
  };
}

/** One row of counts, where PostgreSQL can tell; otherwise the count is that of the statement. */
export function upsertSql(plan: Plan, source: Source): string {
  const { mode, told } = plan;
  const write = mode === 'merge' ? mergeSql(plan, source) : insertSql(plan, source);
  if (mode === 'merge' && told === NOT_TOLD) return `${withClause(source.before)}${write}`;
  const counts = ['count(*)::text AS written', 'count(*) FILTER (WHERE inserted)::text AS inserted', ...source.facts];
  return `${withClause([...source.before, `rerunsafe_written AS (${write} RETURNING ${told} AS inserted)`])}SELECT ${counts.join(', ')} FROM rerunsafe_written`;
}

/** What is wrong with a source, asked by itself. */
export const seenSql = ({ before, facts }: Source): string => `${withClause(before)}SELECT ${facts.join(', ')}`;

/** Rows that a higher token has written, of those that the source is about. */
export function staleSql(plan: Plan, source: Source): string {
  const column = `${T}.${quoted(plan.fence ?? '')}`;
  return `${withClause(source.before)}SELECT max(${column})::text AS stored FROM ${plan.table} AS ${T} JOIN ${source.from} AS ${S} ON ${same(plan.key)} WHERE ${column} > ${TOKEN}`;
}

const withClause = (parts: readonly string[]): string => (parts.length === 0 ? '' : `WITH ${parts.join(', ')} `);

function insertSql(plan: Plan, { insert }: Source): string {
  const { table, key, update, fence } = plan;
  const head = `INSERT INTO ${table} AS ${T} (${written(plan)}) ${insert} ON CONFLICT (${list(key)})`;
  const sets = setsOf(plan, 'excluded');
  if (sets.length === 0) return `${head} DO NOTHING`;
  const newer = fence === undefined ? '' : `(${T}.${quoted(fence)} > ${TOKEN}) IS NOT TRUE AND `;
  return `${head} DO UPDATE SET ${sets.join(', ')} WHERE ${newer}(${changed(update, fence, 'excluded', {})})`;
}

function mergeSql(plan: Plan, { from }: Source): string {
  const { table, columns, key, update, fence, types } = plan;
  const sets = setsOf(plan, S);
  // A row that is left alone is not locked. This holds the stale ones until they are counted.
  const stale =
    fence === undefined ? '' : ` WHEN MATCHED AND ${T}.${quoted(fence)} > ${TOKEN} THEN UPDATE SET ${quoted(fence)} = ${T}.${quoted(fence)}`;
  const matched = sets.length === 0 ? '' : ` WHEN MATCHED AND (${changed(update, fence, S, types)}) THEN UPDATE SET ${sets.join(', ')}`;
  const values = fence === undefined ? list(columns, S) : `${list(columns, S)}, ${TOKEN}`;
  return `MERGE INTO ${table} AS ${T} USING ${from} AS ${S} ON ${same(key)}${stale}${matched} WHEN NOT MATCHED THEN INSERT (${written(plan)}) VALUES (${values})`;
}

function setsOf({ update, fence }: Plan, from: string): string[] {
  const sets = update.map((column) => `${quoted(column)} = ${from}.${quoted(column)}`);
  return fence === undefined ? sets : [...sets, `${quoted(fence)} = ${TOKEN}`];
}

/** By their text, byte by byte: `=` takes 1.0 for 1.00 and, in `citext`, A for a, and `json` has none. `excluded` is as it would be stored. */
function changed(update: readonly string[], fence: string | undefined, from: string, types: StoredTypes): string {
  const columns = update.map((column) => {
    const to = asStored(types, column, `${from}.${quoted(column)}`);
    return `${T}.${quoted(column)}::text COLLATE "C" IS DISTINCT FROM (${to})::text COLLATE "C"`;
  });
  return (fence === undefined ? columns : [...columns, `${T}.${quoted(fence)} IS DISTINCT FROM ${TOKEN}`]).join(' OR ');
}
