import type { Timers } from '../../src/core/ports.ts';
import { Dice } from './dice.ts';
import { Happenings } from './happenings.ts';
import type { Process } from './process.ts';
import { type Due, Queue } from './queue.ts';
import { Trace } from './trace.ts';

export { Dice } from './dice.ts';

interface Event extends Due {
  readonly callback: () => void;
  readonly process: Process | undefined;
  /** Set by the code under test, not by the simulated work. */
  readonly counts: boolean;
}

const START_MS = 1_735_689_600_000;

/**
 * Runs every promise callback that is ready, and those that these make ready, and tells of rejections that nobody handles: what Node does between two
 * events, at a seventh of the cost of a turn of its event loop. Works only at the bottom of the stack, see {@link asEvent}.
 */
const settle = (process as unknown as { _tickCallback(): void })._tickCallback;

/** A simulation is plain code that runs within one event of the real event loop. */
export const asEvent = <T>(task: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(task());
      } catch (error) {
        reject(error);
      }
    });
  });

/** True time, and everything that waits for it. */
export class World {
  readonly dice: Dice;
  readonly trace = new Trace();
  readonly happenings: Happenings;
  readonly #ties: Dice;
  readonly #queue = new Queue<Event>();
  #elapsedMs = 0;
  #nonces = 0;

  constructor(seed: number, keep?: readonly string[]) {
    this.dice = new Dice(seed);
    this.#ties = this.dice.fork('ties');
    this.happenings = new Happenings(keep);
    let settled = false;
    void Promise.resolve().then(() => {
      settled = true;
    });
    settle();
    if (!settled) throw new Error('a simulation runs inside of asEvent() only: here promises would not settle before time goes on');
  }

  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  nowMs(): number {
    return START_MS + Math.floor(this.#elapsedMs);
  }

  nonce(): string {
    this.#nonces += 1;
    return `n${this.#nonces}`;
  }

  /** Timers of the network, which outlive any process. */
  readonly timers: Timers = { after: (ms, callback) => this.after(ms, callback) };

  after(ms: number, callback: () => void, process?: Process, counts = false): () => void {
    // As timers do: some time always passes, however small a rest of a wait is.
    const event: Event = { dueMs: this.#elapsedMs + Math.max(1, ms), tie: this.#ties.next(), cancelled: false, callback, process, counts };
    this.#queue.push(event);
    if (counts && process !== undefined) process.pendingTimers += 1;
    return () => {
      if (!event.cancelled) this.#forget(event);
    };
  }

  #forget(event: Event): void {
    event.cancelled = true;
    if (event.counts && event.process !== undefined) event.process.pendingTimers -= 1;
  }

  sleep(ms: number, process?: Process): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve, process));
  }

  /** What is due for a process that was frozen is due so much later. */
  postpone(process: Process, ms: number): void {
    this.#queue.postpone((event) => event.process === process, ms);
  }

  /** Lets time pass until `done`, or nothing is due any more, or the limit is reached. Never while a promise has something left to do. */
  run(done: () => boolean, limitMs: number): boolean {
    const untilMs = this.#elapsedMs + limitMs;
    for (;;) {
      settle();
      if (done()) return true;
      const next = this.#queue.first();
      if (next === undefined || next.dueMs > untilMs) {
        this.#elapsedMs = untilMs;
        return done();
      }
      this.#queue.pop();
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      const { process } = next;
      if (process?.paused === true && !process.dead) {
        next.dueMs = process.pausedUntilMs;
        this.#queue.push(next);
        continue;
      }
      this.#forget(next);
      if (process?.dead !== true) next.callback();
    }
  }
}
