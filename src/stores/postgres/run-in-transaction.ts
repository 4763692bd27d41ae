/**
 * The record and the business rows in one transaction: both stand, or neither.
 *
 * @module
 */

import { guardFrom } from '../../core/guard.ts';
import {
  guardOf,
  IN_TRANSACTION_RULES,
  type InTransactionOptions,
  observedTransaction,
  type TransactionCall,
  transactionCall,
} from '../../core/in-transaction.ts';
import { checkOptions, has, invalidOptions, isFunction, isInteger, type Rules } from '../../core/options.ts';
import { type RunResult, runGuarded, unwrap } from '../../core/run-once.ts';
import { DEFAULT_TABLE_NAME, TABLE_RULES } from './names.ts';
import { DEFAULT_OUTBOX_TABLE, OUTBOX_RULES } from './outbox-table.ts';
import type { PoolLike } from './query.ts';
import { RunTries } from './run-tries.ts';
import type { TransactionWork } from './run-try.ts';
import { postgresStore } from './store.ts';
import { type Isolation, inTransaction, isIsolation, MOST_MS } from './transaction.ts';

export interface RunInTransactionOptions extends InTransactionOptions {
  /**
   * A `Pool` of `pg`. Each call holds one connection from BEGIN to COMMIT, never two; give the pool a `connectionTimeoutMillis`, else a call waits for a
   * free one without end. Work that takes a second connection of the same pool while it holds this one can leave all of them waiting for each other.
   */
  readonly pool: PoolLike;
  /** Of the record table. Default: the first of the search path that has it. */
  readonly schema?: string;
  /** Default `rerunsafe`. */
  readonly tableName?: string;
  /** Where messages of `run.outbox` wait for the relay, in the same schema. Default `rerunsafe_outbox`. */
  readonly outboxTable?: string;
  /** Default: what the database has; READ COMMITTED, unless somebody changed that. */
  readonly isolation?: Isolation;
  /** How long a duplicate waits for the one that is under way, ms, before it is in flight. Default 5000. */
  readonly waitMs?: number;
  /** The longest time for each statement of the work, ms. Default: what the connection has. */
  readonly statementTimeoutMs?: number;
  /** The server ends a transaction that says nothing for so long, ms: a caller that froze holds its rows no longer than that. Default 60,000. */
  readonly idleTimeoutMs?: number;
  /** How often all of it is done, at most, where other transactions are in the way (40001, 40P01) or the connection is lost before COMMIT. Default 10. */
  readonly maxTries?: number;
  /** How long to find out what became of a COMMIT whose connection was lost, ms. Longer than the server takes to start again. Default 60,000. */
  readonly settleMs?: number;
}

const RULES: Rules = {
  ...IN_TRANSACTION_RULES,
  pool: has('connect', 'query'),
  ...TABLE_RULES,
  ...OUTBOX_RULES,
  isolation: isIsolation,
  waitMs: isInteger(0, MOST_MS - 10_000),
  statementTimeoutMs: isInteger(1, MOST_MS),
  idleTimeoutMs: isInteger(1, MOST_MS),
  maxTries: isInteger(1),
  settleMs: isInteger(0),
};

/**
 * Runs `work` in a transaction that also writes the record of (operation, scope, key), and returns its value, now and on every later call within the
 * retention: what it wrote through `tx` and the record are committed together, or neither is.
 *
 * A duplicate waits until the first has ended, then gets its value; where the first rolled back, it becomes the first. There is no lease and nothing
 * goes stale: whoever dies is rolled back by the server. A throw rolls everything back, and may run again; a `PermanentError` is remembered, without
 * what the work wrote. The work is done again, from its beginning, where PostgreSQL rolls it back for the sake of another transaction: what it does
 * outside of `tx` has to bear that (`run.keyFor`). So it is where the connection is lost before COMMIT; in a statement of the work's own, if the work lets
 * that very error through. What it throws instead is its own, and comes through.
 *
 * @throws RerunSafeError `IN_FLIGHT`: the first is still under way after `waitMs`; `KEY_REUSED`, `BLOCKED`, `RESULT_NOT_STORED`, `MISSING_KEY`,
 * `INVALID_OPTIONS`; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`: nothing was written; `WRITE_UNKNOWN`: the connection was lost during COMMIT, and what
 * became of it could not be found out within `settleMs` (the next call does). A remembered `PermanentError`; and whatever the work throws, or PostgreSQL
 * says of its statements or of a deferred constraint, untouched.
 *
 * @example
 * const receipt = await runInTransaction({ pool, operation: 'orders/take', key: order.id, input: order }, async (tx) => {
 *   await tx.query('INSERT INTO orders (id, total) VALUES ($1, $2)', [order.id, order.total]);
 *   return { id: order.id };
 * });
 */
export async function runInTransaction<T>(options: RunInTransactionOptions, work: TransactionWork<T>): Promise<T> {
  const call = checked('runInTransaction', options, work);
  return unwrap(guardOf<T>(call), await run(options, call, work));
}

/** Like {@link runInTransaction}, for those who want to look: what normal life brings is a value, anything else throws. */
export async function tryRunInTransaction<T>(options: RunInTransactionOptions, work: TransactionWork<T>): Promise<RunResult<T>> {
  return run(options, checked('tryRunInTransaction', options, work), work);
}

function checked(what: string, options: RunInTransactionOptions, work: unknown): TransactionCall {
  checkOptions(what, options, RULES, ['pool', 'operation', 'key']);
  const wrong = isFunction(work);
  if (wrong !== undefined) throw invalidOptions(what, [`the work ${wrong}`]);
  return transactionCall(options, 'postgres');
}

const DEFAULT_WAIT_MS = 5_000;
const DEFAULT_TRIES = 10;
const DEFAULT_SETTLE_MS = 60_000;

async function run<T>(options: RunInTransactionOptions, call: TransactionCall, work: TransactionWork<T>): Promise<RunResult<T>> {
  const { pool, schema, tableName = DEFAULT_TABLE_NAME, outboxTable = DEFAULT_OUTBOX_TABLE, isolation, idleTimeoutMs, statementTimeoutMs } = options;
  call.signal?.throwIfAborted();
  if (process.env.RERUNSAFE_DISABLED === '1') return unguarded(options, work);
  const { waitMs = DEFAULT_WAIT_MS, maxTries = DEFAULT_TRIES, settleMs = DEFAULT_SETTLE_MS } = options;
  const limits = { isolation, idleTimeoutMs, statementTimeoutMs, waitMs, maxTries, settleMs };
  return observedTransaction(call, () => new RunTries<T>({ pool, place: { schema, tableName, outboxTable }, call, work, limits }).run());
}

/** `RERUNSAFE_DISABLED=1`: a transaction of the work's rows alone. */
function unguarded<T>(options: RunInTransactionOptions, work: TransactionWork<T>): Promise<RunResult<T>> {
  const { pool, schema, tableName, operation, key, scope, isolation, idleTimeoutMs, statementTimeoutMs, signal } = options;
  const store = postgresStore({ pool, ...(schema && { schema }), ...(tableName && { tableName }) });
  const guard = guardFrom<T>('runInTransaction', { store, operation, ...(signal && { signal }) });
  const limits = { isolation, idleTimeoutMs, statementTimeoutMs, signal };
  return runGuarded<T>(guard, { key, scope }, (run) => inTransaction(pool, limits, async (tx) => work(tx, run)));
}
