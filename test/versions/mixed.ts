/**
 * Two versions on one place, judged.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { byLength } from '../support/long.ts';
import { type Calls, callAll } from './calls.ts';
import { engineOf, type Version } from './engines.ts';
import { broken, type Line, type Reached, reached } from './judge.ts';
import { openPlace, type Place } from './place.ts';
import { runProcesses } from './processes.ts';

export const SEEDS = byLength(
  [1],
  [1],
  Array.from({ length: 20 }, (_, n) => n + 1),
);
const SIZE = byLength({ keys: 4, turns: 4, fails: 2 }, { keys: 4, turns: 4, fails: 2 }, { keys: 24, turns: 30, fails: 3 });

export const sizes = (seed: number): Omit<Calls, 'version'> => ({
  seed,
  ...SIZE,
  lanes: 3,
  leaseMs: 300,
  withinMs: byLength(40_000, 40_000, 120_000),
});

export async function mixedProcesses(place: Place, old: Version, calls: ReturnType<typeof sizes>): Promise<void> {
  const { lines, crashes } = await runProcesses(place, [old, 'today'], calls);
  expect(broken(lines)).toEqual([]);
  expect(crashes).toBeGreaterThan(0);
  mustHaveReached(lines, ['todayAfterOld', 'oldAfterToday', 'todayReplaysOld', 'oldReplaysToday', 'stepsHandedOn']);
  console.log(
    `${place.kind}, ${old} beside today, seed ${calls.seed}: ${lines.length} lines, ${crashes} SIGKILLs, ${JSON.stringify(reached(lines))}`,
  );
}

/** Without renewals a stall is one, although others of the process go on; a crash is work that says nothing any more. */
export async function mixedInProcess(place: Place, versions: readonly Version[], seed: number): Promise<void> {
  const lines: Line[] = [];
  const ways = { crash: () => Promise.reject(new Error('lapse')), stall: (ms: number) => pause(ms) };
  const calls = { ...sizes(seed), leaseMs: 300, renew: 'none' } as const;
  await Promise.all(
    versions.map(async (version) => {
      const engine = await engineOf(version);
      const opened = await openPlace(engine, place);
      await callAll(engine, opened, { ...calls, version }, ways, (line) => lines.push(line));
      await opened.close();
    }),
  );
  expect(broken(lines)).toEqual([]);
  mustHaveReached(lines, ['todayAfterOld', 'oldAfterToday', 'todayReplaysOld', 'oldReplaysToday', 'stepsHandedOn']);
  console.log(`${place.kind}, ${versions.join(' and ')} in one process, seed ${seed}: ${lines.length} lines, ${JSON.stringify(reached(lines))}`);
}

function mustHaveReached(lines: readonly Line[], what: readonly (keyof Reached)[]): void {
  const counts = reached(lines);
  expect(what.filter((name) => counts[name] === 0)).toEqual([]);
}
