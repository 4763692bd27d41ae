/**
 * The stages of one peer: one for each lane of trials, and one more with a wire.
 *
 * @module
 */
import type { Peer } from './peers.ts';
import type { Services } from './services.ts';
import { Stage } from './stage.ts';

export class Stages {
  readonly peer: Peer;
  readonly #services: Services;
  readonly #open = new Map<string, Stage>();

  constructor(peer: Peer, services: Services) {
    this.peer = peer;
    this.#services = services;
  }

  async at(lane: number, wired: boolean): Promise<Stage> {
    const name = `${lane}${wired ? ' wired' : ''}`;
    const open = this.#open.get(name);
    if (open !== undefined) return open;
    const stage = new Stage(this.peer, this.#services, String(lane));
    this.#open.set(name, stage);
    if (wired) await stage.wire();
    return stage;
  }

  async clear(lane: number): Promise<void> {
    for (const name of [`${lane}`, `${lane} wired`]) {
      const stage = this.#open.get(name);
      this.#open.delete(name);
      await stage?.end();
    }
  }

  async end(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map((stage) => stage.end()));
  }
}
