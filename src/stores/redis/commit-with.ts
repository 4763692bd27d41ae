/**
 * The completion of a run and data of the caller's in one script.
 *
 * @module
 */
import { commitThrough, withoutMessages } from '../../core/commit-through.ts';
import { checkOptions, isSignal } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { redis } from './internals.ts';
import { type RedisWork, takeWork } from './work.ts';

export interface CommitOptions {
  /** Ends the tries. Where none is in doubt, its reason is thrown, and nothing was written. */
  readonly signal?: AbortSignal;
}

/**
 * Completes a run over a `redisStore` with `value`, and runs a script of yours, in one script: nobody sees the one without the other. A later call replays
 * `value`. What the rest of the run does or throws afterwards changes nothing.
 *
 * Your script is run first, and only where nobody else has taken the run over; where it fails, or returns an error, the record is not completed. But Redis
 * takes nothing back: what a script that fails wrote before it failed stays. Look first, then write.
 *
 * A value that is too large or cannot be stored is left out, and the rest is committed: later callers get `RESULT_NOT_STORED`.
 *
 * @throws RerunSafeError `LEASE_LOST`: somebody else has taken the run over; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS`: nothing was
 * written; `WRITE_UNKNOWN`: it may have taken effect, and the run ends so. What your script failed with, or returned as an error, is an
 * `Error` with that text, and the run goes on.
 *
 * @example
 * await runOnce({ store, operation: 'stock/take', key: order.id, input: order }, async (run) => {
 *   const taken = { item: order.item };
 *   await commitWith(run, taken, { script: "redis.call('DECR', KEYS[1])", keys: [`stock:${order.item}`] });
 *   return taken;
 * });
 */
export async function commitWith<T>(run: Run<T>, value: T, work: RedisWork, options: CommitOptions = {}): Promise<void> {
  const taken = takeWork('commitWith', work);
  checkOptions('commitWith', options, { signal: isSignal });
  const { signal } = options;
  await commitThrough({ run, value, kind: redis, signal }, ({ rows }, request) => {
    withoutMessages(request, 'Redis');
    return rows.put(request.id, request.record, request.version, signal && { signal }, taken);
  });
}
