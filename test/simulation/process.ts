import type { System, Timers } from '../../src/core/ports.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

/** How the clocks of a process go. */
export interface Pace {
  /** How far its idea of the store's time is off at the start, ms. */
  readonly skewMs: number;
  /** Of both its clocks, and so of its timers, against true time. */
  readonly rate: number;
  /** Whatever its clock does, it is never further off than this: somebody sets it. */
  readonly mostOffMs: number;
}

export const RIGHT: Pace = { skewMs: 0, rate: 1, mostOffMs: 0 };

/** One instance of an app: clocks of its own, pauses, and an end that it does not notice. */
export class Process implements System {
  readonly world: World;
  readonly name: string;
  readonly dice: Dice;
  /** Set by the code under test, and not yet due. */
  pendingTimers = 0;
  dead = false;
  pausedUntilMs = 0;
  readonly #pace: Pace;
  #frozenMs = 0;
  #frozenFromMs: number | undefined;
  #wallStepMs = 0;

  constructor(world: World, name: string, pace: Pace) {
    this.world = world;
    this.name = name;
    this.dice = world.dice.fork(name);
    this.#pace = pace;
  }

  readonly clock = {
    monotonicMs: (): number => ((this.#frozenFromMs ?? this.world.elapsedMs) - this.#frozenMs) * this.#pace.rate,
    wallMs: (): number => Math.floor(this.world.nowMs() + this.#pace.skewMs + this.world.elapsedMs * (this.#pace.rate - 1) + this.#wallStepMs),
  };
  readonly timers: Timers = { after: (ms, callback) => this.world.after(ms / this.#pace.rate, callback, this, true) };
  readonly nonce = (): string => this.world.nonce();
  readonly random = (): number => this.dice.next();

  /** What it takes for the store's time. */
  storeNowMs(): number {
    const { skewMs, rate, mostOffMs } = this.#pace;
    const offMs = skewMs + this.world.elapsedMs * (rate - 1);
    return this.world.nowMs() + Math.floor(Math.max(-mostOffMs, Math.min(mostOffMs, offMs)));
  }

  get paused(): boolean {
    return this.pausedUntilMs > this.world.elapsedMs;
  }

  /** Nothing ever reaches it again, and nothing that waits in it goes on: no `finally` runs. */
  die(): void {
    this.dead = true;
  }

  /** A busy event loop: nothing runs, both clocks go on. */
  stall(ms: number): void {
    if (!this.paused && !this.dead) this.pausedUntilMs = this.world.elapsedMs + ms;
  }

  /** A frozen sandbox: nothing runs, the monotonic clock stands still. */
  freeze(ms: number): void {
    if (this.paused || this.dead) return;
    this.pausedUntilMs = this.world.elapsedMs + ms;
    this.#frozenFromMs = this.world.elapsedMs;
    this.world.postpone(this, ms);
    this.world.after(ms, () => {
      this.#frozenFromMs = undefined;
      this.#frozenMs += ms;
    });
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
