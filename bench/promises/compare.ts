/**
 * Every peer through every scenario, so and so often.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { PEERS, type Peer } from './peers.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { startServices } from './services.ts';
import { NotReached } from './stage.ts';
import { Stages } from './stages.ts';

export interface Cell {
  readonly scenario: string;
  readonly peer: string;
  /** Trials that got to what they were to look at. */
  readonly trials: number;
  readonly notReached: number;
  /** By the id of the check. */
  readonly broken: Readonly<Record<string, number>>;
  /** What happened, and how often. */
  readonly seen: Readonly<Record<string, number>>;
}

export interface Wanted {
  readonly trials: number;
  readonly atOnce: number;
  readonly scenarios: readonly Scenario[];
  readonly peers: readonly Peer[];
  readonly tell: (line: string) => void;
}

/** Names as in the command's options: an id, or the beginning of one. */
export const pick = <V extends { readonly id: string }>(all: readonly V[], name: string | undefined): readonly V[] =>
  name === undefined ? all : all.filter(({ id }) => id === name).concat(all.filter(({ id }) => id !== name && id.startsWith(name)));

export { PEERS, SCENARIOS };

/** A trial hangs only where something is wrong with the comparison itself. */
const TRIAL_LIMIT_MS = 60_000;

export async function compare({ trials, atOnce, scenarios, peers, tell }: Wanted): Promise<Cell[]> {
  const services = await startServices(new Set(peers.map(({ needs }) => needs)));
  const cells: Cell[] = [];
  const lanes = Math.min(atOnce, trials);
  const asked = (peer: Peer, alone: boolean): readonly Scenario[] =>
    scenarios.filter((scenario) => scenario.kind === peer.kind && peer.lacks[scenario.id] === undefined && (scenario.alone ?? false) === alone);
  const through = async (queue: Peer[], alone: boolean): Promise<void> => {
    for (let peer = queue.shift(); peer !== undefined; peer = queue.shift()) {
      // Kept from one scenario to the next: to start them takes longer than most trials.
      const stages = new Stages(peer, services);
      try {
        for (const scenario of asked(peer, alone)) {
          const sinceMs = performance.now();
          const cell = await tryOut(scenario, stages, trials, alone ? 1 : lanes);
          cells.push(cell);
          tell(`${cell.scenario}, ${cell.peer}: ${cell.trials} trials in ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`);
        }
      } finally {
        await stages.end();
      }
    }
  };
  try {
    const queue = [...peers];
    const sides = await Promise.allSettled(Array.from({ length: Math.max(1, Math.floor(atOnce / lanes)) }, () => through(queue, false)));
    for (const side of sides) if (side.status === 'rejected') throw side.reason;
    await through([...peers], true);
  } finally {
    await services.stop();
  }
  return scenarios.flatMap(({ id }) => peers.flatMap((peer) => cells.filter((cell) => cell.scenario === id && cell.peer === peer.id)));
}

async function tryOut(scenario: Scenario, stages: Stages, trials: number, lanes: number): Promise<Cell> {
  const broken = Object.fromEntries(scenario.checks.map(({ id }) => [id, 0]));
  const seen: Record<string, number> = {};
  let left = trials;
  let notReached = 0;
  const lane = async (n: number): Promise<void> => {
    while (left > 0) {
      left -= 1;
      try {
        const stage = await stages.at(n, scenario.wired ?? false);
        await Promise.all(scenario.hands.map((letter) => stage.hand(letter)));
        const trial = await limited(scenario.trial(stage), scenario.id);
        for (const { id } of scenario.checks) broken[id] = (broken[id] ?? 0) + (trial.broken[id] ? 1 : 0);
        seen[trial.seen] = (seen[trial.seen] ?? 0) + 1;
      } catch (error) {
        const why = `not reached: ${error instanceof NotReached ? error.message : String(error)}`;
        notReached += 1;
        seen[why] = (seen[why] ?? 0) + 1;
        // What a broken-off trial left behind is no part of the next.
        await stages.clear(n);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)));
  return { scenario: scenario.id, peer: stages.peer.id, trials: trials - notReached, notReached, broken, seen };
}

async function limited<V>(trial: Promise<V>, what: string): Promise<V> {
  const stop = new AbortController();
  try {
    return await Promise.race([
      trial,
      pause(TRIAL_LIMIT_MS, undefined, { signal: stop.signal }).then(() => {
        throw new Error(`${what}: a trial did not end within ${TRIAL_LIMIT_MS} ms`);
      }),
    ]);
  } finally {
    stop.abort();
  }
}
