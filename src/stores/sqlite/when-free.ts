/**
 * Waiting for the file's lock without holding up the event loop: SQLite's own busy handler would sleep in it, and with it every renewal and every
 * timer that ends a lease.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { isInteger, type Rule } from '../../core/options.ts';
import { realSystem } from '../../core/system.ts';
import { isBusy } from './map-error.ts';

export interface Patience {
  /** The longest wait for the lock, ms. */
  readonly busyTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Those of one connection who want to write, first come first served. Only the first asks for the lock: where each asked for himself, a few hundred
 * would have no time left for anything else. And after each write the event loop has a turn: a commit takes milliseconds of it, and many in a row
 * would hold up the timers that renew and end leases.
 */
export interface Line {
  readonly waiting: Waiting[];
  resting: boolean;
}

interface Waiting {
  wake(): void;
}

export const newLine = (): Line => ({ waiting: [], resting: false });

export const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
export const isBusyTimeout: Rule = isInteger(0, 2_147_483_647);

const FIRST_PAUSE_MS = 1;
/** SQLite queues nobody: whoever asks at the right moment gets the lock. A process that asks seldom starves among those that come back at once. */
const LONGEST_PAUSE_MS = 5;

const pauseMs = (round: number): number => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.3 ** round) * (0.5 + realSystem.random());

/** @throws RerunSafeError `STORE_UNAVAILABLE` when the lock was not to be had in time, or the signal aborted; what else `attempt` throws comes through. */
export async function whenFree<T>(line: Line, attempt: () => T, { busyTimeoutMs, signal }: Patience): Promise<T> {
  const { waiting } = line;
  const endsAtMs = realSystem.clock.monotonicMs() + busyTimeoutMs;
  const self: Waiting = { wake: () => {} };
  const isFirst = (): boolean => !line.resting && (waiting.length === 0 || waiting[0] === self);
  try {
    for (let round = 0; ; ) {
      if (signal?.aborted === true) throw storeUnavailable('SQLite: aborted before anything was written', signal.reason);
      let pauseForMs: number | undefined;
      // Everyone asks at least once: time spent behind others of this process is not the file's fault, and ends with their own limits.
      if (isFirst()) {
        try {
          return attempt();
        } catch (error) {
          if (!isBusy(error)) throw error;
          const leftMs = endsAtMs - realSystem.clock.monotonicMs();
          if (leftMs <= 0) throw storeUnavailable(`SQLite: no lock within ${busyTimeoutMs} ms`, error);
          pauseForMs = Math.min(leftMs, pauseMs(round++));
        }
      }
      if (!waiting.includes(self)) waiting.push(self);
      await untilWoken(self, pauseForMs, signal);
    }
  } finally {
    rest(line, self);
  }
}

/** Or until the time is over, or the signal aborts. */
function untilWoken(self: Waiting, limitMs: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel?.();
      signal?.removeEventListener('abort', end);
      self.wake = () => {};
      resolve();
    };
    const cancel = limitMs === undefined ? undefined : realSystem.timers.after(limitMs, end, { keepAlive: true });
    signal?.addEventListener('abort', end, { once: true });
    self.wake = end;
  });
}

function rest(line: Line, self: Waiting): void {
  const place = line.waiting.indexOf(self);
  if (place >= 0) line.waiting.splice(place, 1);
  if (line.resting) return;
  line.resting = true;
  setImmediate(() => {
    line.resting = false;
    line.waiting[0]?.wake();
  });
}
