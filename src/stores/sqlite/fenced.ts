/**
 * Writes to the caller's own tables in the same file that a stale holder cannot make. The strongest form there is: the row of the lease or record is
 * checked inside the transaction of the write, and cannot be taken over before that has ended.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { writeUnknown } from '../../core/errors.ts';
import { checkFence, mustHold, rowIdOf } from '../../core/fence.ts';
import { checkOptions, has, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { toStoreError } from './map-error.ts';
import { prepareOn } from './source.ts';
import { DEFAULT_TABLE_NAME, isTableName, sqlFor } from './table.ts';
import { writing } from './transaction.ts';
import { DEFAULT_BUSY_TIMEOUT_MS, isBusyTimeout, type Line, newLine, whenFree } from './when-free.ts';
import { doWorkWithin, Ended, isWork, ofTheCaller } from './work.ts';

export interface FencedTransactionOptions {
  /** The table of the store that the lease or record is kept in. Default `rerunsafe`. */
  readonly tableName?: string;
  /** How long to wait while others have the file locked, ms. Default 5000. */
  readonly busyTimeoutMs?: number;
  /** Ends the wait. What has begun is finished. */
  readonly signal?: AbortSignal;
}

interface Holder {
  readonly owner: string;
  readonly token: number;
}

/**
 * Runs `work` and commits what it wrote, if the lease (of `storeLeases(sqliteStore(…))`) or the record that the fence is of still has this owner and
 * token. `database` is any connection to the same file. A successor that takes the lease, and only then reads, sees all that its predecessor
 * committed and nothing that comes later: no claim is needed first.
 *
 * What counts is whether somebody else has taken it. A lease that has run out or was released, and that nobody has taken since, still is its last
 * holder's: what it writes comes before anything that a successor does.
 *
 * `work` is synchronous, and must not end the transaction. It is called again where readers were in the way of the commit, which does not happen with
 * `journal_mode = WAL`. Keep it short: nobody else writes to the file meanwhile, and nothing renews the lease.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`, and nothing was run; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`
 * (also where the table has nothing under the fence's name): nothing was written; `WRITE_UNKNOWN`: the commit may have taken effect, or the work ended the transaction itself; `INVALID_OPTIONS`. What `work` throws comes through
 * untouched, rolled back.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) =>
 *   fencedTransaction(database, lease.fence, (db) => db.prepare('UPDATE report SET total = ? WHERE day = ?').run(7, '2026-03-01')),
 * );
 */
export async function fencedTransaction<T>(
  database: DatabaseSync,
  fence: Fence,
  work: (database: DatabaseSync) => T,
  options: FencedTransactionOptions = {},
): Promise<T> {
  check(database, fence, work, options);
  const { tableName = DEFAULT_TABLE_NAME, busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS, signal } = options;
  const { holder } = sqlFor(tableName);
  const attempt = (): T => {
    mustHold(fence, prepareOn(database, holder).get(rowIdOf(fence.id)) as unknown as Holder | undefined, `the table ${tableName}`);
    return doWorkWithin(database, 'fencedTransaction', () => work(database));
  };
  try {
    return await whenFree(lineOf(database), () => writing(database, attempt), { busyTimeoutMs, signal });
  } catch (error) {
    if (error instanceof Ended)
      throw writeUnknown('the transaction was over before its work was: what that wrote may stand, and was not fenced', error.cause);
    const theirs = ofTheCaller(error);
    throw theirs === undefined ? toStoreError(error, 'fenced transaction') : theirs.thrown;
  }
}

const lines = new WeakMap<DatabaseSync, Line>();

function lineOf(database: DatabaseSync): Line {
  const line = lines.get(database) ?? newLine();
  lines.set(database, line);
  return line;
}

const RULES = { tableName: isTableName, busyTimeoutMs: isBusyTimeout, signal: isSignal };

function check(database: unknown, fence: unknown, work: unknown, options: unknown): void {
  checkOptions('fencedTransaction', { database, work }, { database: has('exec', 'prepare'), work: isWork }, ['database', 'work']);
  checkFence(fence);
  checkOptions('fencedTransaction', options, RULES);
}
