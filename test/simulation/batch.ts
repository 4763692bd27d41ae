import { playLeases } from './leases.ts';
import { onFastPlatform } from './platform.ts';
import { playRecords } from './records.ts';
import type { Given, Scenario, Verdict } from './scene.ts';
import { Tally } from './tally.ts';
import { asEvent } from './world.ts';

export const SCENARIOS = { records: playRecords, leases: playLeases } satisfies Record<string, Scenario>;
export type ScenarioName = keyof typeof SCENARIOS;

export interface Range {
  readonly scenario: ScenarioName;
  readonly from: number;
  readonly seeds: number;
}

export interface Broken extends Verdict {
  readonly scenario: ScenarioName;
  readonly seed: number;
}

export interface Done {
  readonly ranOf: number;
  readonly counts: readonly (readonly [string, number])[];
  readonly broken: readonly Broken[];
}

/** So many seeds share one event of the real event loop. */
const AT_ONCE = 250;
const MOST_BROKEN = 5;
/** Each so manieth seed runs a second time, with the real signals and hashes of Node, and must come to the same. */
const TWICE_EVERY = 1_000;

/** Stops after a few that are broken. */
export async function runBatch({ scenario, from, seeds }: Range, given: Given = {}): Promise<Done> {
  const tally = new Tally();
  const broken: Broken[] = [];
  const end = from + seeds;
  let seed = from;
  while (seed < end && broken.length < MOST_BROKEN) {
    const twice = new Map<number, Verdict>();
    await onFastEvent((unhandled) => {
      for (const pause = Math.min(seed + AT_ONCE, end); seed < pause && broken.length < MOST_BROKEN; seed++) {
        const verdict = verdictOf(scenario, seed, tally, given, unhandled);
        if (verdict.wrong.length > 0) broken.push({ scenario, seed, ...verdict });
        else if (seed % TWICE_EVERY === 0) twice.set(seed, verdict);
      }
    });
    for (const [again, { hash, happened }] of twice) {
      const second = await asEvent(() => watched((unhandled) => verdictOf(scenario, again, new Tally(), given, unhandled)));
      const wrong = second.hash === hash ? second.wrong : [`a second run came to another trace: ${hash}, then ${second.hash}`];
      if (wrong.length > 0) broken.push({ scenario, seed: again, wrong, hash, happened });
    }
  }
  return { ranOf: seed - from, counts: [...tally.counts], broken };
}

/** By itself. */
export const runSeed = (scenario: ScenarioName, seed: number, given: Given = {}): Promise<Verdict> =>
  onFastEvent((unhandled) => verdictOf(scenario, seed, new Tally(), given, unhandled));

const onFastEvent = <T>(task: (unhandled: unknown[]) => T): Promise<T> =>
  asEvent(() => watched((unhandled) => onFastPlatform(() => task(unhandled))));

function verdictOf(scenario: ScenarioName, seed: number, tally: Tally, given: Given, unhandled: unknown[]): Verdict {
  unhandled.length = 0;
  const simulate: Scenario = SCENARIOS[scenario];
  const verdict = simulate(seed, tally, given);
  return { ...verdict, wrong: [...verdict.wrong, ...unhandled.map((reason) => `I12 unhandled rejection: ${String(reason)}`)] };
}

/** Rejections that nobody handles are collected; thousands of steps are left alone on purpose, and each would be warned of; a stack costs more than a run. */
function watched<T>(task: (unhandled: unknown[]) => T): T {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  const { emitWarning } = process;
  const { stackTraceLimit } = Error;
  process.on('unhandledRejection', onUnhandled);
  process.emitWarning = () => {};
  Error.stackTraceLimit = 0;
  try {
    return task(unhandled);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    process.emitWarning = emitWarning;
    process.off('unhandledRejection', onUnhandled);
  }
}
