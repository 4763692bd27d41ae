/**
 * Rows written by their business key: written twice, they leave what one write leaves.
 *
 * @module
 */
import { checkOptions, has, type Rule } from '../../core/options.ts';
import { refuseDoubled } from './doubled-keys.ts';
import { isIdentifier, qualified } from './names.ts';
import type { Queryable } from './query.ts';
import { rowFence } from './row-fence.ts';
import { lookAt } from './target.ts';
import { columnsToUpdate, TARGET_RULES, type UpsertTarget } from './upsert-options.ts';
import { checkRows, type Row } from './upsert-rows.ts';
import { type Plan, rowsSource } from './upsert-sql.ts';
import { inOneGo, refuseStale, type Upserted, upserted, write } from './upsert-write.ts';

export interface UpsertOptions extends UpsertTarget {
  readonly table: string;
  /** Default: the first of the search path that has the table. */
  readonly schema?: string;
  /**
   * Objects, column by column; all with the same columns, each with a key of its own. The driver sends the values as it sends the parameters of your own
   * queries, and PostgreSQL takes their types from the table. (`pg` makes a PostgreSQL array of every array: give what goes into `json` as text.)
   */
  readonly rows: readonly Row[];
}

/**
 * Writes rows by their business key: inserts those that are not there, updates those that are, and leaves alone those that stand there just so (no
 * trigger fires, no dead row is left). One statement for as many rows as PostgreSQL takes parameters (65,535), in the order of the key, so that two
 * calls at once do not wait for each other in a circle.
 *
 * With `fence`, a row that a higher token has touched refuses this one. The check sees a newer holder only once that has touched the row: claim what the
 * work depends on first (`fencedClaim`), or better, ask the lease itself (`fencedTransaction`), which needs no column. The first write under a new token
 * writes every row anew, to put it in.
 *
 * `tx` is a connection on which a transaction is open. A call that fails leaves nothing behind, whatever becomes of the rest of the transaction.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`; `INVALID_OPTIONS`: rows that differ in their columns, are there
 * twice (also by keys that the table stores as one: 1.012 and 1.01 in `numeric(10,2)`; `facts.doubled`), or have undefined anywhere or null in the key; a name that PostgreSQL would cut; `merge` before PostgreSQL 15, or with no unique index; no
 * transaction. Under REPEATABLE READ and SERIALIZABLE PostgreSQL's 40001 where another transaction has written the same rows meanwhile: do all of it again,
 * as `runInTransaction` does. What PostgreSQL says of table and rows comes through untouched.
 *
 * @example
 * await fencedTransaction(pool, lease.fence, (tx) =>
 *   upsert(tx, { table: 'report', key: ['day', 'shop'], rows: [{ day: '2026-03-01', shop: 7, total: '12.50' }] }),
 * );
 */
export async function upsert(tx: Queryable, options: UpsertOptions): Promise<Upserted> {
  checkOptions('upsert', { tx }, { tx: has('query') }, ['tx']);
  checkOptions('upsert', options, RULES, ['table', 'key', 'rows']);
  const { key, mode = 'on conflict', rows } = options;
  const fence = options.fence === undefined ? undefined : rowFence(options.fence);
  const columns = Object.keys(rows[0] ?? {});
  const update = rows.length === 0 ? [] : columnsToUpdate('upsert', options, columns, fence?.column);
  const batches = checkRows('upsert', rows, columns, key);
  const table = qualified(options.table, options.schema);
  return inOneGo('upsert', tx, options, async () => {
    const { told, types } = await lookAt('upsert', tx, table, key, mode);
    const plan: Plan = { table, mode, columns, key, update, fence: fence?.column, told, types };
    await refuseDoubled('upsert', tx, plan, rows);
    let done = { written: 0, inserted: 0 };
    for (const batch of batches) {
      const source = rowsSource(plan, batch.length);
      const values = [...(fence === undefined ? [] : [fence.token]), ...batch.flat()];
      const counts = await write(tx, plan, source, values);
      // A row that is not among the written stood there just so, or refused.
      if (fence !== undefined && (mode === 'merge' || counts.written < batch.length)) await refuseStale(tx, plan, source, values, fence);
      done = { written: done.written + counts.written, inserted: done.inserted + counts.inserted };
    }
    return upserted(plan, rows.length, done);
  });
}

const isRows: Rule = (value) => (Array.isArray(value) ? undefined : 'must be an array of objects');
const RULES = { ...TARGET_RULES, table: isIdentifier(), schema: isIdentifier(), rows: isRows };
