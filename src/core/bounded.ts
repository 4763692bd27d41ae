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
export function bounded<R>(system: System, limitMs: number, call: (options: CallOptions) => Promise<R>, signal?: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const limit = Math.max(1, Math.min(limitMs, CALL_LIMIT_MS));
    const leave = (): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const end = (why: string): void => {
      const error = writeUnknown(why, undefined);
      leave();
      reject(error);
      controller.abort(error);
    };
    const onAbort = (): void => end('the call was given up');
    const cancel = system.timers.after(limit, () => end(`no answer within ${limit} ms`), { keepAlive: true });
    const failed = (error: unknown): void => {
      leave();
      reject(error);
    };
    const answered = (answer: R): void => {
      leave();
      resolve(answer);
    };
    const givenUp = signal?.aborted ? writeUnknown('the call was given up', undefined) : undefined;
    if (givenUp === undefined) signal?.addEventListener('abort', onAbort, { once: true });
    else controller.abort(givenUp);
    try {
      Promise.resolve(call({ signal: controller.signal })).then(answered, failed);
    } catch (error) {
      failed(error);
    }
    if (givenUp !== undefined) failed(givenUp);
  });
}
