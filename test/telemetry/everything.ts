/**
 * Everything that core tells, brought about by the engine itself, in virtual time.
 *
 * @module
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LeaseEvent, RunEvent } from '../../src/core/events.ts';
import { tryAcquire, withLease } from '../../src/core/lease.ts';
import { PermanentError, type Run, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { bench, held, inTime } from '../unit/core/engine.ts';

export const OPERATION = 'test/op';
const HOUR_MS = 3_600_000;
const ignore = (): void => {};
const unkeepable = (): unknown => ({ at: () => 1 });

/** Each by what it brings about. */
const RUNS: readonly (() => Promise<unknown>)[] = [
  async function completedAndReplayed() {
    const b = bench();
    await b.run((run) => run.step('charge', () => 1));
    await b.run(() => 2);
    await b.run(() => 2, { key: 'not kept' }).catch(ignore);
    await b.run(unkeepable, { key: 'unkeepable' });
  },
  async function waitedInFlightAndReused() {
    const b = bench({ leaseMs: 10_000 });
    const first = held<number>();
    const running = b.run(first.work, { input: 1 });
    await first.started;
    await b.run(() => 2, { input: 1 });
    await b.run(() => 2, { input: 2 });
    const waiting = b.run(() => 2, { input: 1, onInFlight: { waitMs: 60_000 } });
    await b.clock.advance(100);
    first.end(1);
    await running;
    await inTime(b.clock, waiting);
  },
  async function refusedAndUnguarded() {
    const b = bench();
    b.plan.create = () => 'unavailable';
    b.plan.read = () => 'unavailable';
    await b.run(() => 1).catch(ignore);
    await b.run(() => 1, { onStoreDown: 'run' });
    await b.run(() => Promise.reject(new Error('mine')), { onStoreDown: 'run' }).catch(ignore);
  },
  async function failures() {
    const b = bench();
    await b.run(() => Promise.reject(new Error('mine'))).catch(ignore);
    await b.run((run) => run.step('charge', () => Promise.reject(new Error('mine'))), { key: 'in a step' }).catch(ignore);
    await b.run(() => Promise.reject(new PermanentError('for good')), { key: 'permanent' });
    await b.run(() => Promise.reject(new Error('mine')), { key: 'unknown', onUnknown: 'block' }).catch(ignore);
    await b.clock.advance(2_000);
    await b.run(() => 1, { key: 'unknown', onUnknown: 'block' });
    await b.run(() => Promise.reject(new Error('mine')), { key: 'blocked', onThrow: () => 'block' }).catch(ignore);
  },
  async function stepsNotKept() {
    const b = bench();
    await b.run(async (run: Run) => run.step('ship', unkeepable).then(() => 1));
  },
  async function takenOverAndLost() {
    const b = bench({ renew: 'none' });
    const slow = held<number>();
    const stale = b.run(slow.work).catch(ignore);
    await slow.started;
    await b.clock.advance(5_000);
    await b.run(() => 2);
    slow.end(1);
    await inTime(b.clock, stale);
  },
  async function vanished() {
    const b = bench();
    await b.run(async () => {
      for await (const { id, version } of b.store.list({})) await b.store.delete(id, version);
      return 1;
    });
  },
  async function notSaved() {
    const b = bench({ renew: 'none' });
    b.plan.replace = () => 'unavailable';
    await inTime(
      b.clock,
      b.run(() => 1),
    );
  },
];

async function leases(): Promise<void> {
  const clock = virtualClock();
  const provider = storeLeases(memoryStore({ clock }));
  const slot = clock.clock.wallMs();
  const run = (more: object): Promise<unknown> =>
    inTime(
      clock,
      withLease(provider, 'nightly', { leaseMs: 3_000, ...more }, () => clock.advance(1_500), clock),
    );
  await run({ slot });
  await clock.advance(HOUR_MS);
  await run({ slot });
  await run({ slot: slot - HOUR_MS });
  const got = await tryAcquire(provider, 'nightly', { leaseMs: 1_000, renew: 'none' }, clock);
  await run({});
  await clock.advance(5_000);
  await run({ leaseMs: 1_000, renew: 'none' }).catch(ignore);
  await withLease(provider, 'nightly', {}, () => Promise.reject(new Error('mine')), clock).catch(ignore);
  if (got.kind === 'acquired') await inTime(clock, got.lease.release());
}

export interface Told {
  readonly runs: readonly RunEvent[];
  readonly leases: readonly LeaseEvent[];
}

/** Brings all of it about, and collects what was told. */
export async function everything(): Promise<Told> {
  const told = { runs: [] as RunEvent[], leases: [] as LeaseEvent[] };
  const onRun = (message: unknown): void => void told.runs.push(message as RunEvent);
  const onLease = (message: unknown): void => void told.leases.push(message as LeaseEvent);
  subscribe('rerunsafe:run', onRun);
  subscribe('rerunsafe:lease', onLease);
  try {
    for (const run of RUNS) await run();
    await leases();
  } finally {
    unsubscribe('rerunsafe:run', onRun);
    unsubscribe('rerunsafe:lease', onLease);
  }
  return told;
}
