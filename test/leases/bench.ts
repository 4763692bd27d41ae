import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LeaseEvent } from '../../src/core/events.ts';
import { type Lease, type LeaseOptions, tryAcquire } from '../../src/core/lease.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type FaultPlan, faultyStore, virtualClock } from '../../src/testing/index.ts';
import { inTime } from '../unit/core/engine.ts';

export const NAME = 'job';
export const LEASE_MS = 3_000;

/** Leases on a memory store in virtual time: of a holder whose requests can be spoilt, and of a rival whose requests cannot. */
export function bench() {
  const clock = virtualClock();
  const plan: FaultPlan = { timers: clock.timers };
  const plain = memoryStore({ clock });
  const store = faultyStore(plain, plan);
  const leases = storeLeases(store);
  const rivals = storeLeases(plain);
  const acquire = (options: LeaseOptions = {}, provider: LeaseProvider = leases) =>
    inTime(clock, tryAcquire(provider, NAME, { leaseMs: LEASE_MS, ...options }, clock), 600_000, 10);
  const mine = async (options: LeaseOptions = {}, provider: LeaseProvider = leases): Promise<Lease> => {
    const got = await acquire(options, provider);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    return got.lease;
  };
  return { clock, plan, plain, store, leases, rivals, acquire, mine };
}

/** What is published while `body` runs. */
export async function leaseEvents(body: () => Promise<unknown>): Promise<string[]> {
  const events: string[] = [];
  const listener = (message: unknown): void => void events.push((message as LeaseEvent).event);
  subscribe('rerunsafe:lease', listener);
  try {
    await body();
  } finally {
    unsubscribe('rerunsafe:lease', listener);
  }
  return events;
}
