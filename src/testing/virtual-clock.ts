/**
 * Time that passes only when a test says so.
 *
 * @module
 */
import type { System } from '../core/ports.ts';

export interface VirtualClock extends System {
  /** True time, epoch ms: what a store's own clock shows. Not touched by `stepWall`. */
  nowMs(): number;
  /**
   * Lets time pass: moves to each due timer in turn, runs it, and gives asynchronous code the turns it needs to react before time moves on.
   * Rejects with what a timer's callback throws.
   */
  advance(ms: number): Promise<void>;
  /** Lets asynchronous code react without any time passing. */
  settle(): Promise<void>;
  /** Sets the wall clock of this process forward or back, as a time service does. No time passes. */
  stepWall(ms: number): void;
  /** A frozen sandbox: true time and the wall clock move on, the monotonic clock and the timers stand still. */
  freezeMonotonic(ms: number): void;
  /** Timers that were set and neither ran nor were cancelled. 0 after clean work. */
  pendingTimers(): number;
}

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A `System` under the control of a test. Nonces are counted up and random numbers are seeded, so a run can be repeated exactly.
 *
 * @param startMs Where true time and the wall clock begin, epoch ms. Default 2025-01-01.
 * @param seed For `nonce` and `random`. Two clocks in one test need two seeds, or their nonces collide.
 *
 * @example
 * const clock = virtualClock();
 * const store = memoryStore({ clock });
 * await clock.advance(60_000);
 */
export function virtualClock(startMs = 1_735_689_600_000, seed = 1): VirtualClock {
  let elapsedMs = 0;
  let frozenMs = 0;
  let wallOffsetMs = 0;
  let nonces = 0;
  // A Set keeps the order of insertion: timers due at the same time run in the order in which they were set.
  const pending = new Set<Timer>();
  const random = seeded(seed);
  const nowMs = (): number => startMs + elapsedMs + frozenMs;

  const nextDue = (untilMs: number): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of pending) if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    return next;
  };

  return {
    clock: { monotonicMs: () => elapsedMs, wallMs: () => nowMs() + wallOffsetMs },
    timers: {
      after(ms, callback) {
        const timer = { dueMs: elapsedMs + Math.max(0, ms), callback };
        pending.add(timer);
        return () => void pending.delete(timer);
      },
    },
    nonce: () => `${hex(seed, 8)}-0000-4000-8000-${hex(++nonces, 12)}`,
    random,
    nowMs,
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      await settle();
      for (let timer = nextDue(untilMs); timer !== undefined; timer = nextDue(untilMs)) {
        pending.delete(timer);
        elapsedMs = Math.max(elapsedMs, timer.dueMs);
        timer.callback();
        await settle();
      }
      elapsedMs = Math.max(elapsedMs, untilMs);
      await settle();
    },
    settle,
    stepWall(ms) {
      wallOffsetMs += ms;
    },
    freezeMonotonic(ms) {
      frozenMs += ms;
    },
    pendingTimers: () => pending.size,
  };
}

/** One turn runs every microtask; a few more let work on Node's thread pool (hashing) come back. */
const TURNS = 4;

async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0').slice(-digits);

/** A linear congruential generator with the constants of Numerical Recipes: enough for jitter. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
