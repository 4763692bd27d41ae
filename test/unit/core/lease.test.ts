import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import type { LeaseEvent } from '../../../src/core/events.ts';
import { type LeaseOptions, tryAcquire, withLease } from '../../../src/core/lease.ts';
import type { LeaseProvider } from '../../../src/core/ports.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { type FaultPlan, faultyStore, virtualClock } from '../../../src/testing/index.ts';
import { held, inTime, LOST_ANSWERS } from './engine.ts';

function bench() {
  const clock = virtualClock();
  const plan: FaultPlan = { timers: clock.timers };
  const store = faultyStore(memoryStore({ clock }), plan);
  const leases = storeLeases(store);
  const acquire = async (options: LeaseOptions = {}, provider: LeaseProvider = leases) => {
    const got = await inTime(clock, tryAcquire(provider, 'job', { leaseMs: 3_000, ...options }, clock));
    return got;
  };
  const mine = async (options: LeaseOptions = {}, provider: LeaseProvider = leases) => {
    const got = await acquire(options, provider);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    return got.lease;
  };
  return { clock, plan, store, leases, acquire, mine };
}

describe('a named lease', () => {
  it('is held by one, told to others with when to try again, and free after release with a higher token', async () => {
    const { acquire, mine } = bench();
    const lease = await mine({ label: 'host 1' });
    expect(await acquire()).toEqual({ kind: 'held', retryAfterMs: expect.any(Number), label: 'host 1' });
    expect(await lease.release()).toBe('released');
    const next = await mine();
    expect(next.token).toBeGreaterThan(lease.token);
    expect(next.fence).toEqual({ id: 'job', owner: expect.any(String), token: next.token });
    await next.release();
  });

  it('I12 is renewed while held, and leaves no timer behind once released', async () => {
    const { clock, acquire, mine } = bench();
    const lease = await mine();
    await clock.advance(60_000);
    expect(await acquire()).toMatchObject({ kind: 'held' });
    expect(lease.remainingMs()).toBeGreaterThan(0);
    await lease.release();
    expect(clock.pendingTimers()).toBe(0);
    expect(lease.signal.aborted).toBe(false);
  });

  it.each(LOST_ANSWERS)('I7 an acquisition that meets %j is no false held, and gives one lease', async (fault) => {
    const { clock, plan, mine, acquire } = bench();
    plan.create = { 1: fault };
    const lease = await mine();
    lease.assertHeld();
    await clock.advance(10_000);
    expect(await acquire()).toMatchObject({ kind: 'held' });
    await lease.release();
    plan.replace = (n) => (n === 100 ? fault : undefined);
    const again = await mine();
    expect(again.token).toBeGreaterThan(lease.token);
    await again.release();
  });

  it.each(LOST_ANSWERS)('I7 a renewal or a release that meets %j loses nothing', async (fault) => {
    const { clock, plan, mine, store } = bench();
    const lease = await mine();
    plan.replace = { 1: fault };
    await clock.advance(10_000);
    lease.assertHeld();
    plan.replace = { [store.counts.replace + 1]: fault };
    expect(await inTime(clock, lease.release())).toBe('released');
    await clock.advance(10_000);
    const next = await mine();
    next.assertHeld();
    await next.release();
  });

  it('a renewal that hangs for ever ends the lease on time, once, and says so', async () => {
    const { clock, plan, mine } = bench();
    const events: string[] = [];
    const listener = (message: unknown): void => void events.push((message as LeaseEvent).event);
    subscribe('rerunsafe:lease', listener);
    const lease = await mine();
    plan.replace = () => 'hang';
    await clock.advance(2_940);
    lease.assertHeld();
    await clock.advance(20);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    delete plan.replace;
    await clock.advance(10_000);
    expect(await inTime(clock, lease.release())).toBe('lost');
    unsubscribe('rerunsafe:lease', listener);
    expect(events.filter((event) => event === 'lost')).toHaveLength(1);
  });

  it.each([
    ['an hour forward on the wall clock', (clock: ReturnType<typeof virtualClock>) => clock.stepWall(3_600_000)],
    ['a monotonic clock that stood still', (clock: ReturnType<typeof virtualClock>) => clock.freezeMonotonic(3_000)],
  ])('after a stall with %s the next assertHeld throws, though the signal has not fired', async (_, stall) => {
    const { clock, mine } = bench();
    const lease = await mine();
    stall(clock);
    expect(lease.signal.aborted).toBe(false);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await inTime(clock, lease.release());
  });

  it('assertHeld(minMs) asks for time that is left', async () => {
    const { mine, clock } = bench();
    const lease = await mine({ renew: 'none' });
    await clock.advance(1_000);
    lease.assertHeld(1_900);
    expect(() => lease.assertHeld(2_000)).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await lease.release();
  });

  it("I4 a stale holder's release does not free its successor, and its renewal is lost", async () => {
    const { clock, mine, acquire } = bench();
    const old = await mine({ renew: 'none' });
    await clock.advance(3_001);
    const successor = await mine();
    expect(successor.token).toBeGreaterThan(old.token);
    await expect(old.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await old.release()).toBe('lost');
    expect(await acquire()).toMatchObject({ kind: 'held' });
    successor.assertHeld();
    await successor.release();
  });

  it('an answer later than the lease it grants is not handed out', async () => {
    const { clock, plan, mine } = bench();
    plan.after = (operation, n) => {
      if (operation === 'create' && n === 1) clock.freezeMonotonic(5_000);
    };
    const lease = await mine();
    lease.assertHeld();
    expect(lease.remainingMs()).toBeGreaterThan(2_500);
    await lease.release();
  });

  it('doubt is thrown, never called held', async () => {
    const { clock, plan, leases } = bench();
    plan.create = () => 'lost-request';
    await expect(inTime(clock, tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    plan.read = () => 'unavailable';
    await expect(inTime(clock, tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('waits for the holder when asked to, and ends the wait with its signal', async () => {
    const { clock, leases, mine } = bench();
    const lease = await mine();
    const waiting = tryAcquire(leases, 'job', { waitMs: 60_000 }, clock);
    const controller = new AbortController();
    const cancelled = tryAcquire(leases, 'job', { waitMs: 60_000, signal: controller.signal }, clock);
    cancelled.catch(() => {});
    await clock.advance(5_000);
    controller.abort(new Error('enough'));
    await expect(inTime(clock, cancelled)).rejects.toThrow('enough');
    await lease.release();
    const got = await inTime(clock, waiting);
    expect(got.kind).toBe('acquired');
    if (got.kind === 'acquired') await got.lease.release();
  });

  it('minimum hold outlives the release', async () => {
    const { clock, mine, acquire } = bench();
    const lease = await mine({ minHoldMs: 10_000 });
    await clock.advance(1_000);
    await lease.release();
    expect(await acquire()).toMatchObject({ kind: 'held', retryAfterMs: 9_000 });
    await clock.advance(9_001);
    await (await mine()).release();
  });

  it.each([[{ leaseMs: 1 }], [{ leaseMs: '3' }], [{ ttl: 3 }], [{ slot: -1 }], [{ onPassed: 'x' }]])('refuses wrong options: %j', async (options) => {
    const { leases, store } = bench();
    await expect(tryAcquire(leases, 'job', options as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(tryAcquire(leases, '', {})).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(store.calls).toHaveLength(0);
  });
});

describe('slots', () => {
  it('a slot that is done is not handed out again, an older one has passed, a failed one stays open', async () => {
    const { clock, leases, acquire, mine } = bench();
    const failed = withLease(leases, 'job', { slot: 1_000 }, () => Promise.reject(new Error('no')), clock);
    await expect(failed).rejects.toThrow('no');
    expect(await withLease(leases, 'job', { slot: 1_000 }, () => 'done', clock)).toEqual({ kind: 'done', value: 'done', released: 'released' });
    expect(await acquire({ slot: 1_000 })).toEqual({ kind: 'slot-done' });
    expect(await acquire({ slot: 500 })).toEqual({ kind: 'slot-passed', lastSlot: 1_000 });
    const backfill = await mine({ slot: 500, onPassed: 'run' });
    await backfill.release({ slotDone: true });
    expect(await acquire({ slot: 1_000 })).toEqual({ kind: 'slot-done' });
    expect(await withLease(leases, 'job', { slot: 2_000 }, () => 'next', clock)).toMatchObject({ value: 'next' });
  });

  it('two instances of one slot: one run', async () => {
    const { clock, leases } = bench();
    let runs = 0;
    const one = withLease(leases, 'job', { slot: 7, waitMs: 5_000 }, () => ++runs, clock);
    const two = withLease(leases, 'job', { slot: 7, waitMs: 5_000 }, () => ++runs, clock);
    const kinds = [(await inTime(clock, one)).kind, (await inTime(clock, two)).kind];
    expect(kinds.sort()).toEqual(['done', 'slot-done']);
    expect(runs).toBe(1);
  });
});

describe('withLease', () => {
  it("the work's own result or error always wins over a failed release", async () => {
    const { clock, plan, leases } = bench();
    plan.replace = () => 'unavailable';
    expect(
      await inTime(
        clock,
        withLease(leases, 'a', {}, () => 42, clock),
      ),
    ).toEqual({ kind: 'done', value: 42, released: 'unknown' });
    await expect(
      inTime(
        clock,
        withLease(leases, 'b', {}, () => Promise.reject(null), clock),
      ),
    ).rejects.toBeNull();
  });

  it('releases only after the work has settled', async () => {
    const { clock, leases, acquire } = bench();
    const work = held<number>();
    const running = withLease(leases, 'job', { leaseMs: 3_000 }, work.work, clock);
    await work.started;
    await clock.advance(20_000);
    expect(await acquire()).toMatchObject({ kind: 'held' });
    work.end(1);
    await running;
    expect(await acquire()).toMatchObject({ kind: 'acquired' });
  });
});
