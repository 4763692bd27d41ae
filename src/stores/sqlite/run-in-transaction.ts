/**
 * The record and the business rows in one transaction: both stand, or neither.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { isRerunSafeError, RerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import { guardFrom } from '../../core/guard.ts';
import {
  type Begin,
  beginInTransaction,
  guardOf,
  IN_TRANSACTION_RULES,
  type InTransactionOptions,
  observedTransaction,
  type TransactionCall,
  tellTransaction,
  transactionCall,
} from '../../core/in-transaction.ts';
import { checkOptions, has, invalidOptions, type Rules } from '../../core/options.ts';
import type { RecordStore } from '../../core/ports.ts';
import type { Run } from '../../core/run.ts';
import { type RunResult, runGuarded, unwrap } from '../../core/run-once.ts';
import { type Internals, sqlite } from './internals.ts';
import { type Begun, type Committed, inOneTry } from './run-try.ts';
import type { Session } from './source.ts';
import { doWork, Ended, isWork, ofTheCaller } from './work.ts';

export interface RunInTransactionOptions extends InTransactionOptions {
  /** A `sqliteStore`. Give it the file that your tables are in. */
  readonly store: RecordStore;
}

/** Synchronous; `database` is the connection of the store. */
export type TransactionWork<T> = (database: DatabaseSync, run: Run) => T;

const RULES: Rules = { ...IN_TRANSACTION_RULES, store: has('read', 'create', 'replace') };

/**
 * Runs `work` in a transaction that also writes the record of (operation, scope, key), and returns its value, now and on every later call within the
 * retention: what it wrote and the record are committed together, or neither is.
 *
 * There is no lease and nothing goes stale: whoever dies is rolled back by the next process that opens the file. Others wait for the file's lock
 * (`busyTimeoutMs` of the store), then a duplicate gets the value of the first; a replay waits for no lock. A throw rolls everything back, and may run
 * again; a `PermanentError` is remembered, without what the work wrote. Where SQLite has ended the transaction by itself (`OR ROLLBACK`, a trigger's
 * `RAISE(ROLLBACK)`, a full disk) nothing can be remembered: what was thrown comes through, and it may run again.
 *
 * `work` is synchronous, must not end the transaction, and reads what its writing statements return (`INSERT … RETURNING`) to the end. Nobody else writes to the file meanwhile, and no timer of this process fires: keep it short,
 * and do what has to be awaited before, or in `runOnce` with `commitWith`. It is called again where readers were in the way of the commit, which does not
 * happen with `journal_mode = WAL`.
 *
 * @throws RerunSafeError `KEY_REUSED`, `BLOCKED`, `RESULT_NOT_STORED`, `MISSING_KEY`, `INVALID_OPTIONS`, `IN_FLIGHT` (a `runOnce` under the same key is
 * still at work); `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`: nothing was written; `WRITE_UNKNOWN`: the commit may have taken effect (the next call finds
 * out), or the work ended the transaction itself (then the record is blocked). A remembered `PermanentError`; and whatever the work throws, or SQLite says
 * of a deferred constraint, untouched.
 *
 * @example
 * const receipt = await runInTransaction({ store, operation: 'orders/take', key: order.id, input: order }, (db) => {
 *   db.prepare('INSERT INTO orders (id, total) VALUES (?, ?)').run(order.id, order.total);
 *   return { id: order.id };
 * });
 */
export async function runInTransaction<T>(options: RunInTransactionOptions, work: TransactionWork<T>): Promise<T> {
  const one = checked('runInTransaction', options, work);
  return unwrap(guardOf<T>(one.call), await perform(one));
}

/** Like {@link runInTransaction}, for those who want to look: what normal life brings is a value, anything else throws. */
export async function tryRunInTransaction<T>(options: RunInTransactionOptions, work: TransactionWork<T>): Promise<RunResult<T>> {
  return perform(checked('tryRunInTransaction', options, work));
}

interface One<T> {
  readonly what: string;
  readonly options: RunInTransactionOptions;
  readonly call: TransactionCall;
  readonly internals: Internals;
  readonly work: TransactionWork<T>;
}

function checked<T>(what: string, options: RunInTransactionOptions, work: TransactionWork<T>): One<T> {
  checkOptions(what, options, RULES, ['store', 'operation', 'key']);
  checkOptions(what, { work }, { work: isWork }, ['work']);
  const internals = sqlite.of(options.store);
  if (internals === undefined) throw invalidOptions(what, [`the store must be a sqliteStore, or spread from one, not "${options.store.name}"`]);
  return { what, options, call: transactionCall(options, options.store.name), internals, work };
}

async function perform<T>(one: One<T>): Promise<RunResult<T>> {
  const { call } = one;
  call.signal?.throwIfAborted();
  if (process.env.RERUNSAFE_DISABLED === '1') return unguarded(one);
  return observedTransaction(call, () => told(one));
}

async function told<T>(one: One<T>): Promise<RunResult<T>> {
  const { call } = one;
  try {
    const { result, tell } = await answered(one);
    tellTransaction(call, tell);
    return result;
  } catch (error) {
    const theirs = ofTheCaller(error);
    if (theirs !== undefined) {
      tellTransaction(call, { event: 'released', error: theirs.thrown });
      throw theirs.thrown;
    }
    if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) call.signal?.throwIfAborted();
    tellTransaction(call, { event: isRerunSafeError(error, 'WRITE_UNKNOWN') ? 'unknown' : 'refused', error });
    throw error;
  }
}

async function answered<T>({ what, options, call, internals, work }: One<T>): Promise<Committed<T>> {
  const { connection, rows } = internals;
  const { clock } = options.store;
  const begin = (session: Session): Begin<T> =>
    beginInTransaction<T>(rows.find(session, call.id), call, { nowMs: clock.nowMs(), uncertaintyMs: clock.uncertaintyMs });
  // What stands already is answered by a look: a replay must not queue for the write lock.
  const seen = await connection.read(signalOf(call), begin);
  if (seen.kind === 'answer') return { result: seen.answer, tell: { event: seen.event } };
  let begun: Begun<T> | undefined;
  try {
    return await connection.write(signalOf(call), (session) => {
      begun = undefined;
      return inOneTry({ what, call, rows, session, work, begin: begin(session), onBegun: (record) => (begun = record) });
    });
  } catch (error) {
    if ((error as Error).cause instanceof Ended) throw await blocked(call, internals, begun, (error as { cause: Ended }).cause);
    // A COMMIT that failed: if what it wrote can be read, it is committed. That it cannot proves nothing.
    const committed = isRerunSafeError(error, 'WRITE_UNKNOWN') ? begun?.committed : undefined;
    if (committed === undefined) throw error;
    const standing = await connection.read(undefined, (session) => rows.find(session, call.id)).catch(() => undefined);
    if (standing?.record.revision !== committed.revision) throw error;
    return committed;
  }
}

const signalOf = ({ signal }: TransactionCall) => (signal === undefined ? undefined : { signal });

/** Whatever of it stands: nobody may do it again before a person has looked. */
async function blocked<T>(
  call: TransactionCall,
  { connection, rows }: Internals,
  begun: Begun<T> | undefined,
  { cause }: Ended,
): Promise<RerunSafeError> {
  if (begun === undefined) return storeMisconfigured('the transaction was over before the work began.', cause);
  await connection.write(undefined, (session) => rows.put(session, call.id, begun.record, begun.over?.version));
  return new RerunSafeError(
    'WRITE_UNKNOWN',
    `${call.operation}: the work ended the transaction itself. What it wrote may stand, its outcome does not; the record is blocked until a person has looked (resolveRun, forgetRun).`,
    { cause, facts: { operation: call.operation, id: call.id } },
  );
}

/** `RERUNSAFE_DISABLED=1`: a transaction of the work's rows alone. */
async function unguarded<T>({ what, options, internals, work }: One<T>): Promise<RunResult<T>> {
  const { store, operation, key, scope, signal } = options;
  const guard = guardFrom<T>(what, { store, operation, ...(signal === undefined ? {} : { signal }) });
  return runGuarded<T>(guard, { key, scope }, async (run) => {
    try {
      return await internals.connection.write(signal && { signal }, ({ database }) => doWork(what, () => work(database, run)));
    } catch (error) {
      const theirs = ofTheCaller(error);
      throw theirs === undefined ? error : theirs.thrown;
    }
  });
}
