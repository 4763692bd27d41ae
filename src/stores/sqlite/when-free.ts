/**
 * Waiting for the file's lock without holding up the event loop: SQLite's own busy handler would sleep in it, and with it every renewal and every
 * timer that ends a lease.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { isInteger, type Rule } from '../../core/options.ts';
import { pause, realSystem } from '../../core/system.ts';
import { isBusy } from './map-error.ts';

export interface Patience {
  /** The longest wait for the lock, ms. */
  readonly busyTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
export const isBusyTimeout: Rule = isInteger(0, 2_147_483_647);

const FIRST_PAUSE_MS = 1;
/** SQLite queues nobody: whoever asks at the right moment gets the lock. Whoever asks seldom starves among those who come back at once. */
const LONGEST_PAUSE_MS = 5;
/** So many of one process ask that often; more of them ask less often, or asking would be all that the process does. */
const ASKING_AT_ONCE = 16;

let waiting = 0;

const pauseMs = (round: number): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.3 ** round) * Math.max(1, waiting / ASKING_AT_ONCE) * (0.5 + realSystem.random());

/** @throws RerunSafeError `STORE_UNAVAILABLE` when the lock was not to be had in time, or the signal aborted; what else `attempt` throws comes through. */
export async function whenFree<T>(attempt: () => T, { busyTimeoutMs, signal }: Patience): Promise<T> {
  const endsAtMs = realSystem.clock.monotonicMs() + busyTimeoutMs;
  for (let round = 0; ; round++) {
    if (signal?.aborted === true) throw givenUp(signal);
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const leftMs = endsAtMs - realSystem.clock.monotonicMs();
      if (leftMs <= 0) throw storeUnavailable(`SQLite: no lock within ${busyTimeoutMs} ms`, error);
      waiting += 1;
      await pause(realSystem, Math.min(leftMs, pauseMs(round)), signal).catch(() => {});
      waiting -= 1;
    }
  }
}

const givenUp = ({ reason }: AbortSignal): Error => storeUnavailable('SQLite: aborted before anything was written', reason);
