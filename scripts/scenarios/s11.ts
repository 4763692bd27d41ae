/**
 * S11: several regions schedule the same job.
 *
 * @module
 */
import type { WorkerProcess } from '../demo/calls.ts';
import type { Expect } from '../support/report.ts';
import { BACKENDS, type Kind } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { different } from './watch.ts';

const WORKER = 's11-worker.ts';
const REGIONS = ['west', 'east', 'south'];
const HOUR_MS = 3_600_000;
const SLOTS = [1, 2, 3, 4, 5];

export const s11: Scenario = {
  id: 'S11',
  title: 'Several regions schedule the same job',
  parts: [
    { on: WITHOUT, shows: 'three regions', play: without },
    ...(['azure-tables', 'dynamodb', 'postgres'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: 'one slot, one run',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

const ranIn = (regions: readonly WorkerProcess[]): number => regions.reduce((sum, { logs }) => sum + logs.length, 0);

async function without(expect: Expect, stage: Stage): Promise<void> {
  const regions = await Promise.all(REGIONS.map(() => stage.process(WORKER)));
  await Promise.all(regions.map((region) => region.call('runPlain')));
  expect('runs for one slot', ranIn(regions), 3);
}

async function guarded(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const place = await stage.place(kind);
  const regions = await Promise.all(REGIONS.map((region) => stage.process(WORKER, place, { REGION: region })));
  const [west, east, south] = regions as [WorkerProcess, WorkerProcess, WorkerProcess];
  const run = (region: WorkerProcess, slot: number, more: object = {}) => region.call<string>('run', { slot: slot * HOUR_MS, ...more });

  const kinds: string[] = [];
  for (const slot of SLOTS) kinds.push(...(await Promise.all(regions.map((region) => run(region, slot)))));
  expect('three regions at the same moment, 5 slots: runs', ranIn(regions), 5);
  expect('told that it was done', kinds.filter((kind) => kind === 'done').length, 5);
  expect('others: held, or the slot is done', kinds.filter((kind) => kind === 'held' || kind === 'slot-done').length, 10);
  expect('a region that comes later for the last of them', await run(south, 5), 'slot-done');
  expect('a region that is late for an older one', await run(south, 2), 'slot-passed');
  expect('a region whose run fails', await run(west, 6, { fails: true }).catch((error: Error) => error.message), 'no network here');
  expect('leaves the slot to another', await run(east, 6), 'done');
  expect('runs in all, one of them failed', ranIn(regions), 7);

  const reports = await Promise.all(regions.map((region) => region.call<string>('report', { slot: 7 * HOUR_MS })));
  expect('where all need the result, runOnce: different ones', different(reports), 1);
  expect('runs in all', ranIn(regions), 8);
}
