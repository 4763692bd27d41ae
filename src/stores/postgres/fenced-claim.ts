/**
 * Fence on entry: who takes over puts its token into a row before it reads what its work depends on.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { checkOptions, has, invalidOptions, type Rule } from '../../core/options.ts';
import { asStored, storedTypes } from './as-stored.ts';
import { isIdentifier, qualified, quoted } from './names.ts';
import type { Queryable } from './query.ts';
import { type RowFence, rowFence, staleRows } from './row-fence.ts';

export interface FencedClaimOptions {
  readonly table: string;
  /** Default: the first of the search path that has the table. */
  readonly schema?: string;
  /** The row, by the columns of its key: `{ day: '2026-03-01', shop: 7 }`. Rounded as the columns round what is stored in them. */
  readonly key: Readonly<Record<string, unknown>>;
  /** `lease.fence` or `run.fence`, and the column of the row that keeps the token: `{ ...lease.fence, column: 'written_by' }`. */
  readonly fence: RowFence;
}

/** A row that came in between the two looks has been there for both the next time. */
const ROUNDS = 5;

/**
 * Sets the fence of a row and returns the row as it stands, in one statement: from then on lower tokens are refused. Without it a late write of the
 * predecessor can fall between the successor's reading and its first write. One row at a time, by its key; undefined where there is none (which nothing
 * then guards: `fencedTransaction` does).
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`; `INVALID_OPTIONS`. What PostgreSQL says comes through untouched.
 *
 * @example const report = await fencedClaim<{ total: string }>(tx, { table: 'report', key: { day: '2026-03-01' }, fence: lease.fence });
 */
export async function fencedClaim<R extends object = Record<string, unknown>>(tx: Queryable, options: FencedClaimOptions): Promise<R | undefined> {
  checkOptions('fencedClaim', { tx }, { tx: has('query') }, ['tx']);
  checkOptions('fencedClaim', options, RULES, ['table', 'key', 'fence']);
  const fence = rowFence(options.fence);
  const table = qualified(options.table, options.schema);
  const column = quoted(fence.column);
  const types = await storedTypes(tx, table);
  const where = Object.keys(options.key).map((name, at) => `${quoted(name)} = ${asStored(types, name, `$${at + 2}`)}`);
  const own = `(${column} > $1::bigint) IS NOT TRUE`;
  const values = [fence.token, ...Object.values(options.key)];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const { rows } = await tx.query(`UPDATE ${table} SET ${column} = $1::bigint WHERE ${[...where, own].join(' AND ')} RETURNING *`, values);
    if (rows.length > 1) throw invalidOptions('fencedClaim', [`key must name one row of ${table}, and there are ${rows.length}`]);
    if (rows[0] !== undefined) return rows[0] as R;
    const standing = await tx.query(`SELECT ${column}::text AS stored, ${own} AS free FROM ${table} WHERE ${where.join(' AND ')}`, values);
    if (standing.rows.length === 0) return undefined;
    const { stored, free } = standing.rows[0] ?? {};
    if (free !== true) throw staleRows(fence, Number(stored), table);
  }
  throw storeUnavailable(`a row of ${table} came and went ${ROUNDS} times in a row`, undefined);
}

const isKey: Rule = (value) => {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return 'must be an object of columns';
  const columns = Object.entries(value);
  const open = columns.find(([, part]) => part === undefined || part === null)?.[0];
  return open === undefined ? columns.map(([column]) => isIdentifier()(column)).find((wrong) => wrong !== undefined) : `has no value for ${open}`;
};

const RULES = { table: isIdentifier(), schema: isIdentifier(), key: isKey, fence: () => undefined };
