import { type Event, of, type Struck } from './format.ts';

/** Which caller was killed when. Whoever dies leaves all its keys. */
export class Strikes {
  readonly #kills = new Map<string, Struck[]>();

  constructor(events: readonly Event[]) {
    for (const event of of(events, 'struck')) {
      if (event.signal !== 'SIGKILL') continue;
      const own = this.#kills.get(event.caller) ?? [];
      own.push(event);
      this.#kills.set(event.caller, own);
    }
    for (const own of this.#kills.values()) own.sort((a, b) => a.atMs - b.atMs);
  }

  killed(caller: string, fromMs: number, toMs = Number.POSITIVE_INFINITY): boolean {
    const own = this.#kills.get(caller) ?? [];
    let [low, high] = [0, own.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((own[middle] as Struck).atMs < fromMs) low = middle + 1;
      else high = middle;
    }
    return (own[low]?.atMs ?? Number.POSITIVE_INFINITY) <= toMs && low < own.length;
  }

  /** Whoever fell by its own hand was dead before somebody struck it from outside. */
  deathOf(caller: string): Struck | undefined {
    const own = this.#kills.get(caller);
    return own?.find(({ point }) => point !== 'outside') ?? own?.[0];
  }
}
