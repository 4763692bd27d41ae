/**
 * Beside the time on the wall, the CPU time of this process: where an emulator on the same machine takes most of the wall clock, that is what we cost.
 *
 * @module
 */
import type { Subject } from './interleaved.ts';
import { type Spread, spreadOf } from './spread.ts';

export interface Metered {
  readonly subjects: Readonly<Record<string, Subject>>;
  /** For one call, µs, all threads of this process: so far. */
  cpuUs(subject: string): Spread;
}

export function metered(given: Readonly<Record<string, Subject>>): Metered {
  const used = new Map<string, number[]>(Object.keys(given).map((name) => [name, []]));
  const watched = ([name, subject]: [string, Subject]): [string, Subject] => [
    name,
    async (times, round) => {
      const before = process.cpuUsage();
      await subject(times, round);
      const { user, system } = process.cpuUsage(before);
      // Rounds below 0 warm up.
      if (Number(round) >= 0) used.get(name)?.push((user + system) / times);
    },
  ];
  return { subjects: Object.fromEntries(Object.entries(given).map(watched)), cpuUs: (subject) => spreadOf(used.get(subject) ?? []) };
}
