import { expect, it } from 'vitest';
import { tryAcquire } from '../../../src/core/lease.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { faultyStore, virtualClock } from '../../../src/testing/index.ts';
import { inTime } from './engine.ts';

it('I4 a renewal that the store takes, and answers after the holder has stopped: the lease stays lost', async () => {
  const clock = virtualClock();
  const leases = storeLeases(faultyStore(memoryStore({ clock }), { timers: clock.timers, replace: { 1: { delayMs: 40 } } }));
  const got = await tryAcquire(leases, 'job', { leaseMs: 1_000, renew: 'none' }, clock);
  if (got.kind !== 'acquired') throw new Error('not acquired');
  const { lease } = got;
  // The holder stops 50 ms before the end; the store goes by the end.
  await clock.advance(930);
  const renewal = lease.renew().then(
    () => 'renewed',
    (error: { code?: string }) => error.code,
  );
  expect(await inTime(clock, renewal, 1_000, 10)).toBe('LEASE_LOST');
  expect(lease.signal.aborted).toBe(true);
  expect(lease.remainingMs()).toBe(0);
  expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
  await lease.release();
});
