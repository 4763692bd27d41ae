/**
 * S6: a lease runs out while its holder is paused, and the holder writes on.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { WorkerProcess } from '../demo/calls.ts';
import type { Expect } from '../support/report.ts';
import { BACKENDS, type Kind } from './place.ts';
import { makeTarget } from './s6-targets.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { seen, until } from './watch.ts';

const WORKER = 's6-worker.ts';
const OLD = 'of the old holder';
const NEW = 'of the new holder';

/** By what the check is made there, and whether it is part of the write (a transaction with the lease's own row) or beside what is written. */
const FORMS: Readonly<Record<Kind, { readonly shows: string; readonly sameTransaction: boolean }>> = {
  postgres: { shows: 'fencedTransaction, the lease row locked', sameTransaction: true },
  dynamodb: { shows: 'fencedTransaction, a check of the lease item', sameTransaction: true },
  'azure-tables': { shows: 'fencedTransaction, in the partition of the lease', sameTransaction: true },
  redis: { shows: 'fencedScript', sameTransaction: true },
  sqlite: { shows: 'fencedTransaction, BEGIN IMMEDIATE', sameTransaction: true },
  'azure-blob': { shows: 'fencedUpload, the token in the metadata', sameTransaction: false },
  file: { shows: 'fencedWriteFile, the token in a file beside it', sameTransaction: false },
};

export const s6: Scenario = {
  id: 'S6',
  title: 'A lease runs out while its holder is paused, and it writes on',
  parts: (Object.keys(FORMS) as Kind[]).map((kind) => ({
    on: BACKENDS[kind],
    shows: FORMS[kind].shows,
    slow: kind === 'azure-blob',
    play: (expect: Expect, stage: Stage) => paused(expect, stage, kind),
  })),
};

async function paused(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const place = await stage.place(kind);
  await makeTarget(place);
  const leaseMs = kind === 'azure-blob' ? 15_000 : 2_000;
  const [before, after] = await Promise.all([stage.process(WORKER, place), stage.process(WORKER, place)]);
  const oldToken = Number(await until<number>(before, 'hold', { leaseMs }, []));

  before.pause();
  // What it would do next: it is handed these while it stands still.
  const late = (['plain', 'fenced', 'untouched'] as const).map((to) => seen(before, 'write', { to, text: OLD, fenced: to !== 'plain' }));
  if (kind === 'file') {
    expect('stopped, it keeps the lock of the kernel (a choice)', await heldAfter(after, leaseMs * 2, leaseMs), 'held');
    await after.call('break');
  }
  const newToken = await until<number>(after, 'hold', { leaseMs }, ['held'], leaseMs + 20_000);
  expect('paused past its lease; another has it, the token', Number(newToken) > oldToken ? 'is larger' : newToken, 'is larger');
  await after.call('claim', { to: 'fenced' });
  for (const to of ['plain', 'fenced']) await after.call('write', { to, text: NEW, fenced: to === 'fenced' });

  before.resume();
  const [plain, fenced, untouched] = await Promise.all(late);
  expect('it goes on and writes without a fence', plain, 'written');
  expect('what stands there: the new work is lost', await after.call('read', { from: 'plain' }), OLD);
  expect('it goes on and writes with its fence', fenced, 'STALE_TOKEN');
  expect('what stands there', await after.call('read', { from: 'fenced' }), NEW);
  if (FORMS[kind].sameTransaction) {
    expect('to a place that the new holder has not touched', untouched, 'STALE_TOKEN');
    expect('what stands there', await after.call('read', { from: 'untouched' }), 'nothing');
  } else {
    expect('to a place that the new holder has not claimed', untouched, 'written');
  }
  expect('asked, it knows that its lease is over', await seen(before, 'assertHeld', {}), 'LEASE_LOST');
}

async function heldAfter(worker: WorkerProcess, ms: number, leaseMs: number): Promise<string | number> {
  await pause(ms);
  return until<number>(worker, 'hold', { leaseMs }, []);
}
