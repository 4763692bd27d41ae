import { type Broken, runSeed, type ScenarioName } from './batch.ts';
import type { Given } from './scene.ts';

export interface Shrunk {
  readonly scenario: ScenarioName;
  readonly seed: number;
  readonly wrong: readonly string[];
  /** All that the failure needs: without any one of them it is gone. */
  readonly keep: readonly string[];
  readonly runs: number;
}

const MOST_RUNS = 2_000;

/** Leaves out whatever is not needed for the same promise to be broken: halves, then quarters, in the end one at a time. The same every time. */
export async function shrink({ scenario, seed, wrong: first, happened }: Broken, given: Given = {}): Promise<Shrunk> {
  const promises = new Set(first.map(promiseOf));
  let keep = [...new Set(happened)];
  let wrong = first;
  let runs = 0;
  const stillBreaks = async (fewer: readonly string[]): Promise<boolean> => {
    runs += 1;
    const verdict = await runSeed(scenario, seed, { ...given, keep: fewer });
    if (!verdict.wrong.some((reason) => promises.has(promiseOf(reason)))) return false;
    // What was allowed and did not come up is not needed either.
    const came = new Set(verdict.happened);
    keep = fewer.filter((name) => came.has(name));
    wrong = verdict.wrong;
    return true;
  };
  for (let size = Math.ceil(keep.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < keep.length && runs < MOST_RUNS; ) {
      const fewer = [...keep.slice(0, at), ...keep.slice(at + size)];
      if (await stillBreaks(fewer)) {
        // One that could not be left out before may be now.
        if (size === 1) at = 0;
      } else at += size;
    }
  }
  return { scenario, seed, wrong, keep, runs };
}

/** `I3`; where no promise is named, how the sentence begins. */
const promiseOf = (reason: string): string => /^I\d+/.exec(reason)?.[0] ?? reason.slice(0, 12);

/** With the command that repeats it. */
export const described = ({ scenario, seed, wrong, keep, runs }: Shrunk): string =>
  [
    `${scenario}, seed ${seed}, made smaller in ${runs} runs:`,
    ...wrong.map((reason) => `  ${reason}`),
    `  node test/simulation/run.ts --only ${scenario} --seed ${seed} --keep '${keep.join(',')}'`,
  ].join('\n');
