/**
 * As `interleaved`, for what tells by itself how long it took: a child process, a server.
 *
 * @module
 */
import { type Spread, spreadOf } from './spread.ts';

export interface Told {
  of(subject: string): Spread;
  /** To the subject of that name, round by round. */
  ratio(subject: string, base: string): Spread;
}

/** Each subject once in each round, `warmUp` rounds not counted, and each of them in each place equally often. */
export async function inRounds(
  subjects: Readonly<Record<string, (round: number) => Promise<number>>>,
  { rounds, warmUp = 1 }: { readonly rounds: number; readonly warmUp?: number },
): Promise<Told> {
  const names = Object.keys(subjects);
  const told = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    const shift = (round + warmUp) % names.length;
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const value = (await subjects[name]?.(round)) ?? Number.NaN;
      if (round >= 0) told.get(name)?.push(value);
    }
  }
  const all = (name: string): readonly number[] => told.get(name) ?? [];
  return {
    of: (subject) => spreadOf(all(subject)),
    ratio: (subject, base) => spreadOf(all(subject).map((value, round) => value / (all(base)[round] ?? Number.NaN))),
  };
}
