/**
 * A thousand duplicates of a run of two seconds: what they ask of the store, and how long after it is done the last one knows.
 *
 * @module
 */
import { runOnce } from 'rerunsafe';
import { type Counted, type Kind, open, type Place, startServer, TITLES } from '../measure/counted-stores.ts';
import { type Spread, spreadOf, told } from '../measure/spread.ts';
import type { Figure, Measured, Section } from '../section.ts';
import { crew } from './crew.ts';
import { type Answers, duplicates, nowMs, OPERATION, VALUE } from './duplicates.ts';

export interface WaitingPlan {
  readonly kinds: readonly Kind[];
  readonly waiters: number;
  readonly workMs: number;
  readonly rounds: number;
  /** Over how many processes; 0: in this one. */
  readonly spreads: readonly number[];
}

export interface Waited {
  readonly kind: Kind;
  readonly processes: number;
  readonly waiters: number;
  readonly perWaiter: Spread;
  /** After the run's own caller had its answer, ms. */
  readonly medianMs: Spread;
  readonly lastMs: Spread;
  readonly requests: readonly number[];
  readonly ran: number;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One run, and those who wait for it. */
async function round(
  owner: Counted,
  key: string,
  workMs: number,
  wait: () => Promise<readonly Answers[]>,
): Promise<{ answers: readonly Answers[]; doneAtMs: number }> {
  let waiting: Promise<readonly Answers[]> | undefined;
  await runOnce({ store: owner.store, operation: OPERATION, key }, async () => {
    waiting = wait();
    await pause(workMs);
    return VALUE;
  });
  const doneAtMs = nowMs();
  return { answers: (await waiting) ?? [], doneAtMs };
}

async function measureAt(place: Place, plan: WaitingPlan, processes: number): Promise<Waited> {
  const { waiters, workMs, rounds } = plan;
  const owner = await open(place);
  // A store of their own: what the run's own process knows must not help them.
  const here = await open(place);
  const others = processes > 0 ? await crew(place, processes) : undefined;
  try {
    const wait = async (key: string): Promise<readonly Answers[]> =>
      others === undefined ? [await duplicates(here, key, waiters)] : others.wait(key, waiters);
    await duplicates(owner, `warm ${processes}`, 1);
    await duplicates(here, `warm ${processes}`, Math.min(waiters, 50));
    const perWaiter: number[] = [];
    const medians: number[] = [];
    const lasts: number[] = [];
    const requests: number[] = [];
    let ran = 0;
    for (let n = 0; n < rounds; n++) {
      const key = `${processes} ${n}`;
      const { answers, doneAtMs } = await round(owner, key, workMs, () => wait(key));
      const lateMs = answers.flatMap(({ answeredAtMs }) => answeredAtMs.map((atMs) => atMs - doneAtMs)).toSorted((a, b) => a - b);
      const sent = answers.reduce((sum, each) => sum + each.requests, 0);
      perWaiter.push(sent / lateMs.length);
      requests.push(sent);
      medians.push(spreadOf(lateMs).median);
      lasts.push(lateMs.at(-1) ?? Number.NaN);
      ran += answers.reduce((sum, each) => sum + each.ran, 0);
    }
    return {
      kind: place.kind,
      processes,
      waiters,
      perWaiter: spreadOf(perWaiter),
      medianMs: spreadOf(medians),
      lastMs: spreadOf(lasts),
      requests,
      ran,
    };
  } finally {
    await others?.stop();
    await here.close();
    await owner.close();
  }
}

export async function measureWaiting(plan: WaitingPlan): Promise<readonly Waited[]> {
  const all: Waited[] = [];
  for (const kind of plan.kinds) {
    const server = await startServer(kind);
    try {
      const place: Place = { kind, at: server.at, name: kind === 'redis' ? '0' : 'waiting' };
      const { store, close } = await open(place);
      await store.setUp?.();
      await close();
      for (const processes of plan.spreads) all.push(await measureAt(place, plan, processes));
    } finally {
      await server.stop();
    }
  }
  return all;
}

export function shown(all: readonly Waited[], { waiters, workMs }: WaitingPlan): Measured {
  const figures = all.flatMap(({ kind, processes, perWaiter, lastMs }): Figure[] => {
    const where = `${TITLES[kind]}, ${waiters} duplicates in ${processes === 0 ? 'one process' : `${processes} processes`}`;
    return [
      { name: `requests to the store per waiter, ${where}`, value: perWaiter.median, low: perWaiter.low, high: perWaiter.high, unit: 'requests' },
      { name: `the last one is answered after, ${where}`, value: lastMs.median, low: lastMs.low, high: lastMs.high, unit: 'ms' },
    ];
  });
  return {
    tables: [
      {
        title: `${waiters} duplicates of a run of ${workMs / 1_000} s, which wait for its outcome`,
        columns: ['store', 'processes', 'requests per waiter', 'median answered after, ms', 'last answered after, ms'],
        rows: all.map(({ kind, processes, perWaiter, medianMs, lastMs }) => [
          TITLES[kind],
          processes === 0 ? '1' : String(processes),
          told(perWaiter, 3),
          told(medianMs, 0),
          told(lastMs, 0),
        ]),
        note: 'After: from the answer of the run’s own caller, who is in a process or at a store of its own. One refused claim for each waiter (Table Storage: and one read), then one poll for all that wait in a process, after pauses of 50 ms to 1 s.',
      },
    ],
    figures,
  };
}

const KINDS: readonly Kind[] = ['redis', 'postgres', 'dynamodb', 'azure-tables'];

async function measure({ share }: { readonly share: number }): Promise<Measured> {
  const quick = share < 0.2;
  const plan: WaitingPlan = {
    kinds: KINDS,
    waiters: quick ? 100 : 1_000,
    workMs: quick ? 500 : 2_000,
    rounds: Math.max(1, Math.round(5 * share)),
    spreads: [0, 4],
  };
  return shown(await measureWaiting(plan), plan);
}

export const section: Section = { name: 'waiting', measure };
