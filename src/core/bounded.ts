/**
 * No call to a store waits for ever: a hung connection must not outlive the lease it was to renew.
 *
 * @module
 */
import { writeUnknown } from './errors.ts';
import type { CallOptions, System } from './ports.ts';

/** The longest a single call may take, ms; stores have their own, shorter, limit per try. */
const CALL_LIMIT_MS = 15_000;

/** A write, and a look after it, still fit into the margin that an adapter keeps before the end of its invocation. */
const LAST_CALL_MS = 200;

/** What the platform ends takes the caller's answer with it: no call goes on much beyond the invocation. */
export const withinInvocation = (limitMs: number, remainingMs: number): number => Math.min(limitMs, Math.max(LAST_CALL_MS, remainingMs));

/** For one try of several within a lease: one that hangs must leave time for another. */
export const tryLimitMs = (leaseMs: number): number => Math.max(leaseMs / 4, 250);

/**
 * Runs a call with a signal that aborts after `limitMs`, or with `signal`. Answers `WRITE_UNKNOWN` at that moment even when the call itself never
 * settles; its late answer is dropped (what it did is found by revision).
 */
export async function bounded<R>(system: System, limitMs: number, call: (options: CallOptions) => Promise<R>, signal?: AbortSignal): Promise<R> {
  const controller = new AbortController();
  const limit = Math.max(1, Math.min(limitMs, CALL_LIMIT_MS));
  let cancel = (): void => {};
  let onAbort = (): void => {};
  const ended = new Promise<never>((_, reject) => {
    const end = (why: string): void => {
      const error = writeUnknown(why, undefined);
      controller.abort(error);
      reject(error);
    };
    onAbort = () => end('the call was given up');
    cancel = system.timers.after(limit, () => end(`no answer within ${limit} ms`), { keepAlive: true });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
  ended.catch(() => {});
  try {
    return await Promise.race([call({ signal: controller.signal }), ended]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
