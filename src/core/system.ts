/**
 * The one place where core touches real time and real randomness.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { Clock, System } from './ports.ts';

export const realSystem: System = {
  clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
  timers: {
    after(ms, callback, options) {
      const timer = setTimeout(callback, ms);
      if (options?.keepAlive !== true) timer.unref();
      return () => clearTimeout(timer);
    },
  },
  nonce: () => randomUUID(),
  random: () => Math.random(),
};

/** A moment on both clocks. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const instant = (clock: Clock): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });

/** What has passed by the clock that says more: the monotonic one may stand still in a frozen sandbox, the wall clock may step back. */
export const elapsedMs = (since: Instant, clock: Clock): number =>
  Math.max(0, clock.monotonicMs() - since.monotonicMs, clock.wallMs() - since.wallMs);

/** An owner stops this much before its lease ends: max(1 %, 50 ms). */
export const ownMarginMs = (leaseMs: number): number => Math.max(leaseMs / 100, 50);

/** What an owner may still count on, from before the request was first sent. Negative when over. */
export const ownRemainingMs = (sentAt: Instant, leaseMs: number, clock: Clock): number => leaseMs - ownMarginMs(leaseMs) - elapsedMs(sentAt, clock);

/** Waits; ends early, rejecting with the signal's reason, when that aborts. Leaves no timer and no listener behind. */
export function pause(system: System, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = system.timers.after(
      ms,
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      { keepAlive: true },
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** When `promise` has settled, `ms` have passed or the signal aborts. Keeps the process alive until then, and leaves no timer behind. */
export async function settledWithin(system: System, promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  const time = pause(system, ms, signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]));
  const ended = promise.catch(() => {});
  await Promise.race([ended, time.catch(() => {})]);
  over.abort();
}

/** Rejects with the signal's reason when that aborts first; what comes later is dropped. Leaves no listener behind. */
export function unlessAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
