/**
 * The completion of a run and rows of the caller's in one transaction.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { commitThrough, withoutMessages } from '../../core/commit-through.ts';
import { writeUnknown } from '../../core/errors.ts';
import { checkOptions, isSignal } from '../../core/options.ts';
import type { WriteResult } from '../../core/ports.ts';
import type { CommitRequest, Run } from '../../core/run.ts';
import { type Internals, sqlite } from './internals.ts';
import { doWorkWithin, Ended, isWork, ofTheCaller } from './work.ts';

export interface CommitOptions {
  /** Ends the wait for the file's lock, and further tries. Where none is in doubt, its reason is thrown, and nothing was written. */
  readonly signal?: AbortSignal;
}

/**
 * Completes a run over a `sqliteStore` with `value`, and does `work` on the store's own connection, in one transaction: what it wrote and the record both
 * stand, or neither. A later call replays `value`. What the rest of the run does or throws afterwards changes nothing.
 *
 * `work` is synchronous, and must not end the transaction. It is not called where somebody else has taken the run over, and again where its transaction
 * was rolled back for a reason that passes. A value that is too large or cannot be stored is left out, and the rest is committed: later callers get
 * `RESULT_NOT_STORED`.
 *
 * @throws RerunSafeError `LEASE_LOST`: somebody else has taken the run over; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS`: nothing was
 * written; `WRITE_UNKNOWN`: it may have taken effect, and the run ends so (also for work that ended the transaction itself). What `work` throws, and what
 * SQLite says of a deferred constraint, comes through untouched, and nothing was written. The run then goes on: it may commit something else, return, or
 * throw.
 *
 * @example
 * await runOnce({ store, operation: 'orders/take', key: order.id, input: order }, async (run) => {
 *   const receipt = await charge(order, run.keyFor('charge'));
 *   await commitWith(run, receipt, (db) => db.prepare('INSERT INTO orders (id, total) VALUES (?, ?)').run(order.id, order.total));
 *   return receipt;
 * });
 */
export async function commitWith<T>(run: Run<T>, value: T, work: (database: DatabaseSync) => unknown, options: CommitOptions = {}): Promise<void> {
  checkOptions('commitWith', { work }, { work: isWork }, ['work']);
  checkOptions('commitWith', options, { signal: isSignal });
  const { signal } = options;
  let ended: Ended | undefined;
  await commitThrough({ run, value, kind: sqlite, signal }, async (internals, request) => {
    // What it wrote stands: it must not be done again, and the doubt remains.
    if (ended !== undefined) throw ended.cause;
    try {
      return await send(internals, request, work, signal);
    } catch (error) {
      if ((error as Error).cause instanceof Ended) ended = (error as Error).cause as Ended;
      if (ended !== undefined) throw writeUnknown('the work ended the transaction itself: what it wrote may stand', ended.cause);
      const theirs = ofTheCaller(error);
      throw theirs === undefined ? error : theirs.thrown;
    }
  });
}

function send(
  { connection, rows }: Internals,
  request: CommitRequest,
  work: (database: DatabaseSync) => unknown,
  signal: AbortSignal | undefined,
): Promise<WriteResult> {
  const { id, record, version } = request;
  withoutMessages(request, 'SQLite');
  return connection.write(signal && { signal }, (session) => {
    // First: where it is refused, nothing of the work is begun.
    const result = rows.put(session, id, record, version);
    if (!result.ok) return result;
    const { database } = session;
    doWorkWithin(database, 'commitWith', () => work(database));
    return result;
  });
}
