import type { System, Timers } from '../../src/core/ports.ts';
import type { Tally } from './tally.ts';

/** Random numbers that a seed repeats exactly (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    for (let warm = 0; warm < 3; warm++) this.next();
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

interface Due {
  dueMs: number;
  readonly callback: () => void;
  readonly process: Process | undefined;
  /** Set by the code under test, not by the simulated work. */
  readonly counts: boolean;
}

const START_MS = 1_735_689_600_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** True time, and everything that waits for it. */
export class World {
  readonly dice: Dice;
  #elapsedMs = 0;
  #nonces = 0;
  readonly #due = new Set<Due>();

  constructor(seed: number) {
    this.dice = new Dice(seed);
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
  readonly timers: Timers = { after: (ms, callback) => this.after(ms, callback, undefined) };

  after(ms: number, callback: () => void, process: Process | undefined, counts = false): () => void {
    // As timers do: some time always passes, however small a rest of a wait is.
    const due: Due = { dueMs: this.#elapsedMs + Math.max(1, ms), callback, process, counts };
    this.#due.add(due);
    return () => void this.#due.delete(due);
  }

  sleep(ms: number, process?: Process): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve, process));
  }

  /** What is due for a process that was frozen is due so much later. */
  postpone(process: Process, ms: number): void {
    for (const due of this.#due) if (due.process === process) due.dueMs += ms;
  }

  pendingOf(process: Process): number {
    let count = 0;
    for (const due of this.#due) if (due.process === process && due.counts) count += 1;
    return count;
  }

  /** Lets time pass until `done`, or nothing is due any more, or the limit is reached. */
  async run(done: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.#elapsedMs + limitMs;
    for (;;) {
      await turn();
      if (done()) return true;
      let next: Due | undefined;
      for (const due of this.#due) if (next === undefined || due.dueMs < next.dueMs) next = due;
      if (next === undefined || next.dueMs > untilMs) {
        this.#elapsedMs = untilMs;
        await turn();
        return done();
      }
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      const { process } = next;
      if (process !== undefined && process.pausedUntilMs > this.#elapsedMs && !process.dead) {
        next.dueMs = process.pausedUntilMs;
        continue;
      }
      this.#due.delete(next);
      if (process?.dead !== true) next.callback();
    }
  }
}

/** One instance of an app: clocks of its own, pauses, and an end that it does not notice. */
export class Process implements System {
  readonly world: World;
  readonly name: string;
  /** How far its idea of the store's time is off. */
  readonly skewMs: number;
  dead = false;
  pausedUntilMs = 0;
  #frozenMs = 0;
  #frozenFromMs: number | undefined;
  #wallStepMs = 0;

  constructor(world: World, name: string, skewMs: number) {
    this.world = world;
    this.name = name;
    this.skewMs = skewMs;
  }

  readonly clock = { monotonicMs: (): number => this.#monotonicMs(), wallMs: (): number => this.world.nowMs() + this.skewMs + this.#wallStepMs };
  readonly timers: Timers = { after: (ms, callback) => this.world.after(ms, callback, this, true) };
  readonly nonce = (): string => this.world.nonce();
  readonly random = (): number => this.world.dice.next();

  #monotonicMs(): number {
    const { elapsedMs } = this.world;
    if (this.#frozenFromMs === undefined) return elapsedMs - this.#frozenMs;
    return this.#frozenFromMs - this.#frozenMs;
  }

  get paused(): boolean {
    return this.pausedUntilMs > this.world.elapsedMs;
  }

  die(tally: Tally): void {
    this.dead = true;
    tally.saw('crashed');
  }

  /** A busy event loop: nothing runs, both clocks go on. */
  stall(ms: number, tally: Tally): void {
    if (this.paused || this.dead) return;
    tally.saw('stalled');
    this.pausedUntilMs = this.world.elapsedMs + ms;
  }

  /** A frozen sandbox: nothing runs, the monotonic clock stands still. */
  freeze(ms: number, tally: Tally): void {
    if (this.paused || this.dead) return;
    tally.saw('frozen');
    this.pausedUntilMs = this.world.elapsedMs + ms;
    this.#frozenFromMs = this.world.elapsedMs;
    this.world.postpone(this, ms);
    this.world.after(
      ms,
      () => {
        this.#frozenFromMs = undefined;
        this.#frozenMs += ms;
      },
      undefined,
    );
  }

  stepWall(ms: number): void {
    this.#wallStepMs += ms;
  }

  /** An answer reaches only a process that is awake; a dead one never. */
  async awake(): Promise<void> {
    while (this.paused && !this.dead) await this.world.sleep(this.pausedUntilMs - this.world.elapsedMs);
    if (this.dead) await new Promise<never>(() => {});
  }
}
