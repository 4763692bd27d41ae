/**
 * Subjects measured in turns: one machine, one moment, so that what drifts (heat, neighbours, a compacting disk) meets all of them alike. What is compared is
 * the ratio within each round; absolute times are only context.
 *
 * @module
 */
import { type Spread, spreadOf } from './spread.ts';

/** Does it so many times and settles when all are done. `round` is new each time: for keys. */
export type Subject = (times: number, round: string) => Promise<void>;

export interface Plan {
  readonly rounds: number;
  /** Calls of each subject in each round. */
  readonly times: number;
  /** Not counted: caches fill, code is compiled, connections are made. Default 3. */
  readonly warmUp?: number;
}

export interface Compared {
  /** For one call, µs. */
  readonly us: Readonly<Record<string, Spread>>;
  /** To the subject of that name, round by round. */
  ratio(subject: string, base: string): Spread;
}

export async function interleaved(subjects: Readonly<Record<string, Subject>>, { rounds, times, warmUp = 3 }: Plan): Promise<Compared> {
  const names = Object.keys(subjects);
  const took = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    // Each in each place equally often: whoever comes first pays for the garbage of the one before.
    const shift = (round + warmUp) % names.length;
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const began = performance.now();
      await subjects[name]?.(times, `${round}`);
      const us = ((performance.now() - began) / times) * 1_000;
      if (round >= 0) took.get(name)?.push(us);
    }
  }
  return {
    us: Object.fromEntries([...took].map(([name, all]) => [name, spreadOf(all)])),
    ratio: (subject, base) => spreadOf((took.get(subject) ?? []).map((us, round) => us / (took.get(base)?.[round] ?? Number.NaN))),
  };
}

/** One after the other, or so many at once. */
export const inLanes =
  (lanes: number, call: (key: string) => Promise<unknown>): Subject =>
  async (times, round) => {
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < times) await call(`${round} ${next++}`);
    };
    await Promise.all(Array.from({ length: Math.min(lanes, times) }, lane));
  };
