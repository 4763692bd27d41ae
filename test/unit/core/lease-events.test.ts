import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { LeaseEvent } from '../../../src/core/events.ts';
import { tryAcquire, withLease } from '../../../src/core/lease.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { type FaultPlan, faultyStore, virtualClock } from '../../../src/testing/index.ts';
import { inTime } from './engine.ts';

describe('the age of the last success', () => {
  it('is told with each run of a scheduled job, also with those that are skipped because one hangs', async () => {
    const clock = virtualClock();
    const leases = storeLeases(memoryStore({ clock }));
    const hour = 3_600_000;
    const events: Pick<LeaseEvent, 'event' | 'reason' | 'lastSuccessAgeMs'>[] = [];
    const listen = (message: unknown): void => {
      const { event, reason, lastSuccessAgeMs } = message as LeaseEvent;
      if (event !== 'renewed')
        events.push(Object.fromEntries(Object.entries({ event, reason, lastSuccessAgeMs }).filter(([, value]) => value !== undefined)) as never);
    };
    subscribe('rerunsafe:lease', listen);
    try {
      const first = clock.clock.wallMs();
      const run = (slot: number, work: () => unknown = () => {}) => withLease(leases, 'nightly', { slot, leaseMs: hour, renew: 'none' }, work, clock);
      await run(first);
      await clock.advance(hour);
      await run(first);
      const hanging = tryAcquire(leases, 'nightly', { slot: first + hour, leaseMs: 4 * hour, renew: 'none' }, clock);
      await hanging;
      await clock.advance(hour);
      await run(first + 2 * hour);
      expect(events).toEqual([
        { event: 'acquired' },
        { event: 'released', lastSuccessAgeMs: 0 },
        { event: 'skipped', reason: 'slot-done', lastSuccessAgeMs: hour },
        { event: 'acquired', lastSuccessAgeMs: hour },
        { event: 'skipped', reason: 'held', lastSuccessAgeMs: 2 * hour },
      ]);
    } finally {
      unsubscribe('rerunsafe:lease', listen);
    }
  });
});

describe('the event of a release', () => {
  it.each(['lost', 'unknown'] as const)('says where it was none: %s', async (reason) => {
    const clock = virtualClock();
    const plan: FaultPlan = { timers: clock.timers };
    const store = faultyStore(memoryStore({ clock }), plan);
    const leases = storeLeases(store);
    const events: LeaseEvent[] = [];
    const listen = (message: unknown): void => void events.push(message as LeaseEvent);
    const got = await tryAcquire(leases, 'job', { leaseMs: 1_000, renew: 'none' }, clock);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    if (reason === 'lost') await clock.advance(1_100);
    else plan.replace = () => 'unavailable';
    subscribe('rerunsafe:lease', listen);
    try {
      expect(await inTime(clock, got.lease.release())).toBe(reason);
      expect(events.filter(({ event }) => event === 'released')).toEqual([expect.objectContaining({ reason })]);
      expect(got.lease.remainingMs()).toBe(0);
    } finally {
      unsubscribe('rerunsafe:lease', listen);
    }
  });
});
