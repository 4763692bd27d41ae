/**
 * S3: a job on a schedule overlaps itself.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Expect } from '../support/report.ts';
import { BACKENDS, type Kind } from './place.ts';
import { type Scenario, WITHOUT } from './scenario.ts';
import type { Stage } from './stage.ts';
import { different, logged, reaches, seen, until } from './watch.ts';

const WORKER = 's3-worker.ts';
const AT_WORK = 'at work';
const QUARTER_MS = 900_000;

export const s3: Scenario = {
  id: 'S3',
  title: 'A job every 15 minutes overlaps itself',
  parts: [
    { on: WITHOUT, shows: 'two instances, then a lock file', play: without },
    ...(['azure-blob', 'azure-tables', 'dynamodb', 'postgres', 'redis'] as const).map((kind) => ({
      on: BACKENDS[kind],
      shows: kind === 'azure-blob' ? 'a lease on a blob, and what it writes is recorded in Table Storage' : 'a lease, and what it writes is recorded',
      slow: kind === 'azure-blob',
      play: (expect: Expect, stage: Stage) => guarded(expect, stage, kind),
    })),
  ],
};

async function without(expect: Expect, stage: Stage): Promise<void> {
  const provider = await stage.provider();
  const [a, b] = await Promise.all([stage.process(WORKER), stage.process(WORKER)]);
  const runs = [seen(a, 'runPlain', { orderId: 'invoice-1' }), seen(b, 'runPlain', { orderId: 'invoice-1' })];
  await Promise.all([logged(a, AT_WORK), logged(b, AT_WORK)]);
  expect('instances at work at the same time', [a, b].filter((one) => one.logs.includes(AT_WORK)).length, 2);
  await Promise.all([a.call('goOn'), b.call('goOn'), ...runs]);
  expect('charges for one invoice', provider.chargesOf('invoice-1').length, 2);

  void seen(a, 'runWithLockFile', { orderId: 'invoice-2' });
  await logged(a, AT_WORK, 2);
  await a.kill();
  expect('its holder killed: who comes after', await seen(b, 'runWithLockFile', { orderId: 'invoice-3' }), 'EEXIST');
  expect('and so for ever', await seen(b, 'runWithLockFile', { orderId: 'invoice-3' }), 'EEXIST');
}

async function guarded(expect: Expect, stage: Stage, kind: Kind): Promise<void> {
  const provider = await stage.provider();
  const place = await stage.place(kind);
  const records = kind === 'azure-blob' ? await stage.place('azure-tables') : place;
  const leaseMs = kind === 'azure-blob' ? 15_000 : 5_000;
  const start = () => stage.process(WORKER, place, { RECORDS: JSON.stringify(records) });
  const [a, b, victim] = await Promise.all([start(), start(), start()]);
  const job = (name: string, slot: number, more: object = {}) => ({ name, slot: slot * QUARTER_MS, leaseMs, ...more });

  const renewed = async () => {
    const run = seen(a, 'run', job('report', 1, { waits: true }));
    await reaches(run, logged(a, AT_WORK));
    const second = await seen(b, 'run', job('report', 1));
    await pause(leaseMs * 1.2);
    const later = await seen(b, 'run', job('report', 1));
    await a.call('goOn');
    return { second, later, first: await run, next: await seen(b, 'run', job('report', 2)) };
  };
  const killed = async () => {
    const run = seen(victim, 'run', job('invoices', 1, { waits: true, orderId: 'invoice-1' }));
    await reaches(run, logged(victim, AT_WORK));
    await victim.kill();
    const killedAtMs = performance.now();
    const second = await seen(b, 'run', job('invoices', 1, { orderId: 'invoice-1' }));
    const taken = await until(b, 'run', job('invoices', 1, { orderId: 'invoice-1' }), ['held', 'IN_FLIGHT'], leaseMs + 20_000);
    return { run: await run, second, taken, tookMs: performance.now() - killedAtMs };
  };
  const [one, two] = await Promise.all([renewed(), killed()]);

  expect('a second instance while one is at work', one.second, 'held');
  expect(`the same after ${(leaseMs * 1.2) / 1000} s: a lease of ${leaseMs / 1000} s is renewed`, one.later, 'held');
  expect('the first', one.first, 'done');
  expect('the next occurrence, at once: it was given back', one.next, 'done');
  expect('a run that throws', await seen(b, 'run', job('report', 3, { fails: true })), 'the job failed');
  expect('gives it back, and the occurrence stays open', await seen(a, 'run', job('report', 3)), 'done');

  expect('a holder killed at its work, after the charge', two.run, 'no answer');
  expect('who comes right after', two.second, 'held');
  expect('when the lease has run out', two.taken, 'done');
  expect('within the lease and 8 s', two.tookMs < leaseMs + 8_000, true);
  const keys = provider.keysOf('invoice-1');
  expect('calls at the provider, different keys of them', [keys.length, different(keys)], [2, 1]);
  expect('charges for one invoice', provider.chargesOf('invoice-1').length, 1);
}
