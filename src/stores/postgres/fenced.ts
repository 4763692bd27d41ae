/**
 * Writes to the caller's own tables in the same database that a stale holder cannot make. The strongest form there is: the row of the lease or record is
 * checked inside the transaction of the write, and nobody can take it over before that has ended.
 *
 * @module
 */
import { checkFence, mustHold, rowIdOf } from '../../core/fence.ts';
import { checkOptions, has, isFunction, isInteger, isOneOf, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { isSerializationFailure, mapError } from './map-error.ts';
import { DEFAULT_TABLE_NAME, qualified, TABLE_RULES } from './names.ts';
import type { PoolLike, Queryable } from './query.ts';
import { inSavepoint } from './savepoint.ts';
import { sqlFor } from './table.ts';
import { unescaped } from './text.ts';
import { inTransaction, type Transaction, type TransactionOptions } from './transaction.ts';

export interface FencePlace {
  /** Of the store that the lease or record is kept in. Default: the first of the search path that has the table. */
  readonly schema?: string;
  /** Default `rerunsafe`. */
  readonly tableName?: string;
}

export interface FencedTransactionOptions extends FencePlace {
  /** Default: what the database has; READ COMMITTED, unless somebody changed that. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable';
  /** The longest wait for each lock, ms, that of the lease's row included. Default: what the connection has. */
  readonly lockTimeoutMs?: number;
  /** The longest time for each statement, ms. Default: what the connection has. */
  readonly statementTimeoutMs?: number;
  /** The server ends a transaction that says nothing for so long, ms: a holder that froze in the middle keeps its successor waiting no longer than that. Default 60,000. */
  readonly idleTimeoutMs?: number;
  /** Ends the wait for a connection. What has begun is finished. */
  readonly signal?: AbortSignal;
}

/** Renewals of the lease, and a takeover that was rolled back, come in between under REPEATABLE READ and SERIALIZABLE. */
const TRIES = 5;

/**
 * Runs `work` in a transaction and commits what it wrote, if the lease (of `storeLeases(postgresStore(…))`) or the record that the fence is of still has
 * this owner and token. That is asked first, and the row stays locked (`FOR SHARE`) until the transaction ends, so nobody takes it in between: a
 * takeover waits. A successor that takes the lease, and only then reads, sees all that its predecessor committed and nothing that comes later: no
 * claim is needed first, and no column is added.
 *
 * What counts is whether somebody else has taken it. A lease that has run out or was released, and that nobody has taken since, still is its last
 * holder's: what it writes comes before anything that a successor does.
 *
 * Keep it well under a third of the lease: the holder's own renewals wait as well, and a renewal or release that is awaited inside `work` waits for
 * the very transaction that awaits it. Compute first, then write. The database role needs UPDATE on the store's table, as FOR SHARE does.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`, and `work` was not run; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`
 * (also where the table has nothing under the fence's name): nothing was written; `WRITE_UNKNOWN`: the connection was lost during COMMIT;
 * `INVALID_OPTIONS`, also for work that went on after a statement had failed, and for work that ended the transaction itself: then some of it may stand, unfenced. What `work` throws, and what PostgreSQL says of its statements, of a
 * deferred constraint or of another transaction in the way (40001, 40P01), comes through untouched, rolled back.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) =>
 *   fencedTransaction(pool, lease.fence, (tx) => tx.query('UPDATE report SET total = $1 WHERE day = $2', [7, '2026-03-01'])),
 * );
 */
export async function fencedTransaction<T>(
  pool: PoolLike,
  fence: Fence,
  work: (tx: Transaction) => Promise<T>,
  options: FencedTransactionOptions = {},
): Promise<T> {
  checkOptions('fencedTransaction', { pool, work }, { pool: has('connect', 'query'), work: isFunction }, ['pool', 'work']);
  checkFence(fence);
  checkOptions('fencedTransaction', options, RULES);
  const { schema, tableName, ...limits } = options;
  const begun: TransactionOptions = limits;
  for (let tries = 1; ; tries += 1) {
    let checked = false;
    try {
      return await inTransaction(pool, begun, async (tx) => {
        await hold(tx, fence, options);
        checked = true;
        return work(tx);
      });
    } catch (error) {
      if (checked || !isSerializationFailure(error)) throw error;
      if (tries === TRIES) throw mapError(error, 'fence', false);
    }
  }
}

/**
 * The same for a transaction that is open already (of `runInTransaction`, of an ORM): from here to its end nobody takes the lease. Ask before the first
 * write, and let the error through, so that the transaction is rolled back.
 *
 * @throws RerunSafeError as {@link fencedTransaction}; `INVALID_OPTIONS` where `tx` has no transaction open. Under REPEATABLE READ and SERIALIZABLE also
 * PostgreSQL's 40001, where the row was changed after the transaction began: do all of it again.
 *
 * @example
 * await runInTransaction({ pool, operation: 'nightly', key: day }, async (tx) => {
 *   await fenced(tx, lease.fence);
 *   await tx.query('UPDATE report SET total = $1 WHERE day = $2', [7, day]);
 * });
 */
export async function fenced(tx: Queryable, fence: Fence, options: FencePlace = {}): Promise<void> {
  checkOptions('fenced', { tx }, { tx: has('query') }, ['tx']);
  checkFence(fence);
  checkOptions('fenced', options, TABLE_RULES);
  await inSavepoint('fenced', tx, () => hold(tx, fence, options));
}

/** Not FOR KEY SHARE: a takeover changes no key, and would not wait for that. */
async function hold(tx: Queryable, fence: Fence, { tableName = DEFAULT_TABLE_NAME, schema }: FencePlace): Promise<void> {
  const table = qualified(tableName, schema);
  const { rows } = await tx.query(`${sqlFor(table).holder} FOR SHARE`, [rowIdOf(fence.id)]).catch((error: unknown) => {
    throw isSerializationFailure(error) ? error : mapError(error, 'fence', false);
  });
  const [row] = rows;
  mustHold(fence, row && { owner: unescaped(String(row.owner)), token: Number(row.token) }, `the table ${table}`);
}

const RULES = {
  ...TABLE_RULES,
  isolation: isOneOf('read committed', 'repeatable read', 'serializable'),
  lockTimeoutMs: isInteger(1, 2_147_483_647),
  statementTimeoutMs: isInteger(1, 2_147_483_647),
  idleTimeoutMs: isInteger(1, 2_147_483_647),
  signal: isSignal,
};
