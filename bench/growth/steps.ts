/**
 * Steps of a run: what each costs, one after the other and all at once.
 *
 * @module
 */
import { runOnce } from 'rerunsafe';
import { type Counted, open, type Place, TITLES } from '../measure/counted-stores.ts';
import { type Spread, spreadOf, told } from '../measure/spread.ts';
import type { Table } from '../section.ts';
import { OPERATION, VALUE } from './fill.ts';

export const STEPS: readonly number[] = [1, 10, 50];

/** Of a first run without steps. */
const OWN_REQUESTS = 2;

export interface Stepped {
  readonly place: Place;
  readonly steps: number;
  readonly atOnce: boolean;
  /** Of a whole run, in each round. */
  readonly requests: readonly number[];
  readonly usPerStep: Spread;
}

async function run({ store }: Counted, key: string, steps: number, atOnce: boolean): Promise<void> {
  const names = Array.from({ length: steps }, (_, n) => `step ${n}`);
  await runOnce({ store, operation: OPERATION, key }, async (own) => {
    if (atOnce) await Promise.all(names.map((name) => own.step(name, () => VALUE)));
    else for (const name of names) await own.step(name, () => VALUE);
    return VALUE;
  });
}

export async function measureSteps(place: Place, rounds: number): Promise<readonly Stepped[]> {
  const counted = await open(place);
  try {
    const cases = STEPS.flatMap((steps) =>
      (steps === 1 ? [false] : [false, true]).map((atOnce) => ({ steps, atOnce, requests: [] as number[], us: [] as number[] })),
    );
    for (let round = -1; round < rounds; round++) {
      for (const each of cases) {
        const before = counted.requests();
        const began = performance.now();
        await run(counted, `steps ${each.steps} ${each.atOnce} ${round}`, each.steps, each.atOnce);
        if (round < 0) continue;
        each.us.push(((performance.now() - began) * 1_000) / each.steps);
        each.requests.push(counted.requests() - before);
      }
    }
    return cases.map(({ steps, atOnce, requests, us }) => ({ place, steps, atOnce, requests, usPerStep: spreadOf(us) }));
  } finally {
    await counted.close();
  }
}

export function stepsTable(all: readonly Stepped[]): Table {
  return {
    title: 'Steps of a run, each with a value of 100 bytes',
    columns: ['store', 'steps', 'how', 'requests of the run', 'requests per step', 'µs per step, the run’s own two writes included'],
    rows: all.map(({ place, steps, atOnce, requests, usPerStep }) => {
      const { median } = spreadOf(requests);
      const perStep = (median - OWN_REQUESTS) / steps;
      return [
        TITLES[place.kind],
        String(steps),
        atOnce ? 'all at once' : 'one after the other',
        String(median),
        perStep.toFixed(2),
        told(usPerStep, 0),
      ];
    }),
    note: 'Requests per step: without the claim and the completion. Each write of a step takes the whole record with it.',
  };
}
