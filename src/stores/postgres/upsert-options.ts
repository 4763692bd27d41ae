/**
 * What upserts have in common as options.
 *
 * @module
 */
import { invalidOptions, isOneOf, type Rule, type Rules } from '../../core/options.ts';
import { isIdentifier } from './names.ts';
import type { RowFence } from './row-fence.ts';
import type { Mode } from './upsert-sql.ts';

export interface UpsertTarget {
  /** The columns that say which row it is. They need a primary key or a unique index, and are never NULL. */
  readonly key: readonly string[];
  /**
   * Each row keeps the highest token that has written it, and refuses a lower one. Give `lease.fence` or `run.fence`. A row must be guarded by one lease
   * only: tokens of two cannot be compared.
   */
  readonly fence?: RowFence;
  /**
   * The statement: `INSERT … ON CONFLICT`, or `MERGE`, which needs PostgreSQL 15. What they write is the same. `MERGE` fails where somebody else inserts
   * the same row meanwhile, so calls with it on one table go one after the other (until the transaction ends, by an advisory lock), and are done again, a
   * few times, where another writer was in between. Default `on conflict`.
   */
  readonly mode?: Mode;
  /** What is set in a row that stands there already. Default: all columns but the key. `nothing`: it stays as it is, but for its fence. */
  readonly update?: readonly string[] | 'nothing';
}

export const isColumns: Rule = (value) => {
  if (!Array.isArray(value) || value.length === 0) return 'must be an array of columns';
  if (new Set(value).size < value.length) return 'names a column twice';
  return value.map(isIdentifier()).find((wrong) => wrong !== undefined);
};

export const TARGET_RULES: Rules = {
  key: isColumns,
  fence: () => undefined,
  mode: isOneOf('on conflict', 'merge'),
  update: (value) => (value === 'nothing' ? undefined : isColumns(value) && `must be 'nothing', or an array of columns (${isColumns(value)})`),
};

/** @throws RerunSafeError `INVALID_OPTIONS` */
export function columnsToUpdate(
  what: string,
  { key, update }: Pick<UpsertTarget, 'key' | 'update'>,
  columns: readonly string[],
  fence: string | undefined,
): readonly string[] {
  const cut = columns.flatMap((column) => {
    const wrong = isIdentifier()(column);
    return wrong === undefined ? [] : [`the column ${column} ${wrong}`];
  });
  const missing = key.filter((column) => !columns.includes(column)).map((column) => `${column} is in the key, and is not among the columns`);
  const fenced = fence !== undefined && columns.includes(fence) ? [`the column ${fence} is the fence's, and is written for you`] : [];
  const chosen = update === undefined || update === 'nothing' ? [] : update;
  const odd = chosen
    .filter((column) => key.includes(column) || !columns.includes(column))
    .map((column) => `update: ${column} is ${key.includes(column) ? 'in the key' : 'not among the columns'}`);
  const problems = [...cut, ...missing, ...fenced, ...odd];
  if (problems.length > 0) throw invalidOptions(what, problems);
  return update === undefined ? columns.filter((column) => !key.includes(column)) : chosen;
}
