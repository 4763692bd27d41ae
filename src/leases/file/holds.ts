/**
 * The leases that this process holds: each an open file under the kernel's lock, given up on time.
 *
 * @module
 */
import { elapsedMs, type Instant, realSystem } from '../../core/system.ts';
import type { LockedFile } from './locked-file.ts';

/** The wall clock is read in whole ms, so what it says has passed may be this much too long: nobody's lock goes while he may still count on it. */
const GRAIN_MS = 1;
/** A timer for longer goes off at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

export class Hold {
  readonly file: LockedFile;
  readonly token: number;
  readonly #onEnd: () => void;
  #leaseMs: number;
  #since: Instant;
  #ended = false;
  #cancelTimer = (): void => {};

  constructor(file: LockedFile, token: number, leaseMs: number, since: Instant, onEnd: () => void) {
    this.file = file;
    this.token = token;
    this.#leaseMs = leaseMs;
    this.#since = since;
    this.#onEnd = onEnd;
    this.#watch();
  }

  /** By either of two clocks, as its holder judges. The kernel's lock may still be there. */
  get over(): boolean {
    return this.#ended || elapsedMs(this.#since, realSystem.clock) >= this.#leaseMs + GRAIN_MS;
  }

  renew(leaseMs: number, since: Instant): void {
    this.#leaseMs = leaseMs;
    this.#since = since;
    this.#watch();
  }

  end(): Promise<void> {
    this.#ended = true;
    this.#cancelTimer();
    this.#onEnd();
    return this.file.close();
  }

  /** The kernel knows of no time: who is late gives the lock up himself, so that a lease that nobody renews comes free. */
  #watch(): void {
    this.#cancelTimer();
    const inMs = Math.min(LONGEST_TIMER_MS, Math.max(1, this.#leaseMs + GRAIN_MS - elapsedMs(this.#since, realSystem.clock)));
    this.#cancelTimer = realSystem.timers.after(inMs, () => {
      if (this.over) void this.end();
      else this.#watch();
    });
  }
}

export class Holds {
  readonly #holds = new Map<string, Hold>();
  readonly #turns = new Map<string, Promise<unknown>>();

  get(key: string): Hold | undefined {
    return this.#holds.get(key);
  }

  add(key: string, file: LockedFile, token: number, leaseMs: number, since: Instant): void {
    const hold = new Hold(file, token, leaseMs, since, () => {
      if (this.#holds.get(key) === hold) this.#holds.delete(key);
    });
    this.#holds.set(key, hold);
  }

  /** What one owner asks of one lease, in order: a second request to acquire would find the file locked by the first. */
  inTurn<R>(key: string, task: () => Promise<R>): Promise<R> {
    const result = (this.#turns.get(key) ?? Promise.resolve()).then(task);
    const settled = result
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(key) === settled) this.#turns.delete(key);
      });
    this.#turns.set(key, settled);
    return result;
  }
}
