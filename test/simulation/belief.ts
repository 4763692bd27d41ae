import type { Fence } from '../../src/core/ports.ts';
import type { Scene } from './scene.ts';

interface Held {
  readonly fence: Fence | undefined;
  remainingMs(): number;
}

/** What a holder takes for what is left of its lease, looked at now and then. */
export class Belief {
  readonly #scene: Scene;
  readonly #name: string;
  readonly #held: Held;
  #lost = false;

  constructor(scene: Scene, name: string, held: Held) {
    this.#scene = scene;
    this.#name = name;
    this.#held = held;
  }

  look(): void {
    const { fail, shelf, clocksAreRight, losesWrites } = this.#scene;
    const remainingMs = this.#held.remainingMs();
    if (this.#lost && remainingMs > 0) fail(`I4 ${this.#name} believes again in a lease that was lost`);
    this.#lost ||= remainingMs === 0;
    const leftMs = shelf.leaseLeftMs(this.#held.fence?.owner);
    if (leftMs === undefined || !clocksAreRight || losesWrites || shelf.wasRemoved || remainingMs <= leftMs) return;
    fail(`I6 ${this.#name} believes in ${remainingMs} ms of a lease with ${leftMs} ms left`);
  }
}
