/**
 * A whole staging table, loaded by business key: loaded twice, it leaves what one load leaves.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';
import { checkOptions, has } from '../../core/options.ts';
import { isIdentifier, qualified } from './names.ts';
import type { Queryable } from './query.ts';
import { rowFence } from './row-fence.ts';
import { lookAt } from './target.ts';
import { columnsToUpdate, isColumns, TARGET_RULES, type UpsertTarget } from './upsert-options.ts';
import { type Plan, seenSql, tableSource } from './upsert-sql.ts';
import { type Counts, inOneGo, refuseStale, type Upserted, upserted, write } from './upsert-write.ts';

export interface LoadStagingOptions extends UpsertTarget {
  /** The staging table: a temporary one, a foreign one or a view, too. */
  readonly from: string;
  /** Default: the first of the search path that has it. */
  readonly fromSchema?: string;
  readonly into: string;
  /** Of `into`. Default: the first of the search path that has it. */
  readonly schema?: string;
  /** Default: all of the staging table, but those that `into` generates itself, and that of the fence. */
  readonly columns?: readonly string[];
}

const COLUMNS = 'SELECT attname::text AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum';

/**
 * Loads a staging table in one statement: what is not there is inserted, what stands there otherwise is updated, what stands there just so is left
 * alone. The same statement looks whether every staged row has a key of its own, and loads nothing where one has not.
 *
 * @throws RerunSafeError as `upsert`; `INVALID_OPTIONS` with `facts.doubled` and `facts.keyless`: so many keys are staged more than once (as `into` stores them), so many rows
 * have NULL in their key (which equals nothing, so that each load would insert them again).
 *
 * @example
 * await runInTransaction({ pool, operation: 'load/sales', key: day }, async (tx) => {
 *   await fenced(tx, lease.fence);
 *   return loadStaging(tx, { from: 'sales_staging', into: 'sales', key: ['shop', 'day'] });
 * });
 */
export async function loadStaging(tx: Queryable, options: LoadStagingOptions): Promise<Upserted> {
  checkOptions('loadStaging', { tx }, { tx: has('query') }, ['tx']);
  checkOptions('loadStaging', options, RULES, ['from', 'into', 'key']);
  const { key, mode = 'on conflict' } = options;
  const fence = options.fence === undefined ? undefined : rowFence(options.fence);
  const staging = qualified(options.from, options.fromSchema);
  const table = qualified(options.into, options.schema);
  return inOneGo('loadStaging', tx, options, async () => {
    const { told, generated, types } = await lookAt('loadStaging', tx, table, key, mode);
    const ours = new Set([...generated, fence?.column]);
    const columns = options.columns ?? (await columnsOf(tx, staging)).filter((column) => !ours.has(column));
    const update = columnsToUpdate('loadStaging', options, columns, fence?.column);
    const plan: Plan = { table, mode, columns, key, update, fence: fence?.column, told, types };
    const source = tableSource(plan, staging);
    const values = fence === undefined ? [] : [fence.token];
    const counts = await write(tx, plan, source, values);
    const staged = refuseKeys(options.from, 'staged' in counts.facts ? counts.facts : (await tx.query(seenSql(source))).rows[0]);
    if (fence !== undefined && (mode === 'merge' || counts.written < staged)) await refuseStale(tx, plan, source, values, fence);
    return upserted(plan, staged, counts);
  });
}

async function columnsOf(tx: Queryable, table: string): Promise<string[]> {
  return (await tx.query(COLUMNS, [table])).rows.map(({ name }) => String(name));
}

function refuseKeys(from: string, facts: Counts['facts'] = {}): number {
  const [doubled, keyless] = [Number(facts.doubled), Number(facts.keyless)];
  if (doubled + keyless === 0) return Number(facts.staged);
  const problems = [
    ...(doubled > 0
      ? [`${doubled} keys are in ${from} more than once, as they would be stored, and which of those rows should stand nobody can tell`]
      : []),
    ...(keyless > 0 ? [`${keyless} rows of ${from} have NULL in their key, and would be inserted again by each load`] : []),
  ];
  throw new RerunSafeError('INVALID_OPTIONS', `loadStaging: ${problems.join('; ')}. Nothing was loaded.`, { facts: { problems, doubled, keyless } });
}

const RULES = {
  ...TARGET_RULES,
  from: isIdentifier(),
  fromSchema: isIdentifier(),
  into: isIdentifier(),
  schema: isIdentifier(),
  columns: isColumns,
};
