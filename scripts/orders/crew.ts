/**
 * Several worker processes that take orders off a queue which delivers each at least once, and that are killed and paused until all are done.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Receipt } from '../../functions/orders/fulfil.ts';
import type { Order } from '../../functions/orders/shop.ts';
import type { Dice } from '../../test/simulation/world.ts';
import type { Process } from './process.ts';

export interface CrewOptions {
  readonly orders: readonly Order[];
  readonly dice: Dice;
  readonly leaseMs: number;
  readonly limitMs: number;
  start(): Promise<Process>;
}

export interface Worked {
  /** For each order what its deliveries were told, one after the other. */
  readonly told: ReadonlyMap<string, readonly Receipt[]>;
  /** Refusals that no later delivery gets past. There should be none. */
  readonly refused: readonly string[];
  readonly processes: number;
  readonly killedFromOutside: number;
  readonly paused: number;
  readonly hasTimedOut: boolean;
}

export const CREW = 4;
/** Orders at once in each process: a kill hits all of them. */
const AT_ONCE = 10;
/** How many of a hundred orders the queue delivers twice from the start. */
const TWICE = 20;
/** So many receipts after one kill or pause from outside comes another. */
const EACH: readonly [number, number] = [20, 60];
const PASSING: readonly string[] = ['IN_FLIGHT', 'LEASE_LOST', 'WRITE_UNKNOWN', 'STORE_UNAVAILABLE'];

export class Crew {
  readonly #options: CrewOptions;
  readonly #waiting: Order[] = [];
  readonly #told = new Map<string, Receipt[]>();
  readonly #refused: string[] = [];
  /** With the orders that each has been handed. */
  readonly #workers = new Map<Process, Set<Order>>();
  #left = 0;
  #receipts = 0;
  #processes = 0;
  #killedFromOutside = 0;
  #paused = 0;
  #hasTimedOut = false;

  constructor(options: CrewOptions) {
    this.#options = options;
    for (const order of options.orders) for (let times = options.dice.below(100) < TWICE ? 2 : 1; times > 0; times--) this.#deliver(order);
  }

  async work(): Promise<Worked> {
    const endsAtMs = performance.now() + this.#options.limitMs;
    const stop = setInterval(() => {
      if (performance.now() < endsAtMs) return;
      this.#hasTimedOut = true;
      // Whoever waits for one of them would wait for ever.
      for (const worker of this.#workers.keys()) void worker.kill();
    }, 1_000);
    try {
      await Promise.all([...Array.from({ length: CREW }, () => this.#seat()), this.#trouble()]);
    } finally {
      clearInterval(stop);
    }
    return {
      told: this.#told,
      refused: this.#refused,
      processes: this.#processes,
      killedFromOutside: this.#killedFromOutside,
      paused: this.#paused,
      hasTimedOut: this.#hasTimedOut,
    };
  }

  get #isOver(): boolean {
    return this.#left === 0 || this.#hasTimedOut;
  }

  #deliver(order: Order): void {
    this.#left += 1;
    this.#waiting.push(order);
  }

  /** One process after the other. */
  async #seat(): Promise<void> {
    while (!this.#isOver) {
      const worker = await this.#options.start();
      this.#processes += 1;
      this.#workers.set(worker, new Set());
      try {
        await Promise.all(Array.from({ length: AT_ONCE }, () => this.#lane(worker)));
      } finally {
        this.#workers.delete(worker);
        await worker.kill();
      }
    }
  }

  /** Until the worker is gone, or all is done. */
  async #lane(worker: Process): Promise<void> {
    while (!this.#isOver && this.#workers.has(worker)) {
      const order = this.#waiting.shift();
      if (order === undefined) await pause(10);
      else await this.#hand(order, worker);
    }
  }

  async #hand(order: Order, worker: Process): Promise<void> {
    const handed = this.#workers.get(worker);
    handed?.add(order);
    const answer = await worker.hand(order);
    handed?.delete(order);
    if (answer.kind === 'done') {
      this.#receipts += 1;
      this.#told.set(order.id, [...(this.#told.get(order.id) ?? []), answer.receipt]);
      this.#left -= 1;
      return;
    }
    if (answer.kind === 'killed') this.#workers.delete(worker);
    else if (answer.code !== undefined && !PASSING.includes(answer.code)) {
      this.#refused.push(`${order.id}: ${answer.code}`);
      this.#left -= 1;
      return;
    }
    // What was not acknowledged is delivered again, and soon: what its attempt has sent may still be on its way.
    const { dice, leaseMs } = this.#options;
    const afterMs = answer.kind === 'failed' && answer.code === 'IN_FLIGHT' ? leaseMs / 2 : dice.between(20, 120);
    setTimeout(() => this.#waiting.unshift(order), afterMs);
  }

  /** From outside, whatever they are at: a kill, or a pause that outlasts the lease, during which the queue delivers elsewhere. */
  async #trouble(): Promise<void> {
    const { dice, leaseMs } = this.#options;
    for (let next = dice.between(...EACH); !this.#isOver; await pause(5)) {
      const worker = dice.pick([...this.#workers.keys()]);
      if (this.#receipts < next || worker === undefined) continue;
      next = this.#receipts + dice.between(...EACH);
      if (this.#killedFromOutside <= this.#paused) {
        this.#killedFromOutside += 1;
        await worker.kill();
        continue;
      }
      this.#paused += 1;
      worker.pause();
      for (const order of this.#workers.get(worker) ?? []) this.#deliver(order);
      await pause(leaseMs * 2);
      worker.resume();
    }
  }
}
