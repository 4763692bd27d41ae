import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { LeaseEvent, RunEvent } from '../../../src/core/events.ts';
import { withLease } from '../../../src/core/lease.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { bench, inTime } from './engine.ts';

describe('whoever hears of a claim is part of its time', () => {
  it('I6 a subscriber that takes longer than the lease to hear of the claim: the work does not start', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    let started = false;
    const slow = (event: unknown): void => {
      if ((event as RunEvent).event === 'claimed') b.clock.freezeMonotonic(2_000);
    };
    subscribe('rerunsafe:run', slow);
    try {
      await expect(b.run(() => (started = true))).rejects.toMatchObject({ code: 'LEASE_LOST' });
    } finally {
      unsubscribe('rerunsafe:run', slow);
    }
    expect(started).toBe(false);
    expect(await b.run((run) => run.attempt)).toMatchObject({ value: 2 });
  });

  it('I6 a subscriber that takes longer than the lease to hear of it: the work under the lease does not start', async () => {
    const clock = virtualClock();
    const leases = storeLeases(memoryStore({ clock }));
    let started = false;
    const slow = (event: unknown): void => {
      if ((event as LeaseEvent).event === 'acquired') clock.freezeMonotonic(2_000);
    };
    subscribe('rerunsafe:lease', slow);
    try {
      const asked = withLease(leases, 'job', { leaseMs: 1_000 }, () => (started = true), clock);
      await expect(inTime(clock, asked)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    } finally {
      unsubscribe('rerunsafe:lease', slow);
    }
    expect(started).toBe(false);
  });
});
