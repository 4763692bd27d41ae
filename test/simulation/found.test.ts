import { describe, expect, it } from 'vitest';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { tryAcquire } from '../../src/core/lease.ts';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { faultyStore, virtualClock } from '../../src/testing/index.ts';
import { type Bench, bench, held, inTime } from '../unit/core/engine.ts';

/** Leaves the record lapsed, with no outcome: its caller crashed. */
async function crashed(b: Bench): Promise<void> {
  b.run(() => new Promise<string>(() => {}), { renew: 'none' }).catch(() => {});
  await b.clock.advance(1_001);
}

const rows = async (b: Bench) => {
  const all = [];
  for await (const one of b.store.list({})) all.push(one.record);
  return all;
};

describe('an outcome that is unknown stays unknown until it is asked for', () => {
  it('I8 a takeover whose answer came too late is given back: its successor still asks before it runs', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    b.plan.after = (operation, n, call) => {
      if (operation === 'replace' && n === 1 && call.record?.attempt === 2) b.clock.freezeMonotonic(950);
    };
    let asked = 0;
    let ran = 0;
    const result = await inTime(
      b.clock,
      b.run(() => ++ran, {
        onUnknown: () => {
          asked += 1;
          return { done: 'already charged' as never };
        },
      }),
    );
    expect({ asked, ran, result }).toMatchObject({ asked: 1, ran: 0, result: { kind: 'completed', value: 'already charged' } });
  });

  it('I8 a call cancelled while it was taking over leaves the outcome unknown', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    const cancel = new AbortController();
    b.plan.after = (operation) => {
      if (operation === 'replace') queueMicrotask(() => queueMicrotask(() => cancel.abort(new Error('cancelled'))));
    };
    await expect(
      inTime(
        b.clock,
        b.run(() => 1, { signal: cancel.signal }),
      ),
    ).rejects.toThrow('cancelled');
    delete b.plan.after;
    await b.clock.advance(2_000);
    expect(await b.run(() => 2, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
  });

  it('I8 a takeover in doubt that is given up leaves the outcome unknown', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    const cancel = new AbortController();
    b.plan.replace = { 1: 'hang-applied' };
    b.clock.timers.after(100, () => cancel.abort(new Error('cancelled')));
    await expect(
      inTime(
        b.clock,
        b.run(() => 1, { signal: cancel.signal, onUnknown: () => 'not-done' }),
      ),
    ).rejects.toThrow('cancelled');
    await b.clock.advance(2_000);
    expect(await b.run(() => 2, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
  });

  it('I8 blocked is said only when the record is blocked', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    const asking = held<'block'>();
    const mine = b.run(() => 'one', { onUnknown: asking.work });
    mine.catch(() => {});
    await asking.started;
    await b.clock.advance(1_001);
    expect(await b.run(() => 'two')).toMatchObject({ value: 'two' });
    asking.end('block');
    const result = await inTime(b.clock, mine).catch((error) => error);
    expect(result).not.toMatchObject({ kind: 'blocked' });
  });
});

describe('the work starts only under a lease that is alive', () => {
  it('I6 onUnknown answers not-done after the lease is over and somebody else is at work: the work does not start', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    const asking = held<'not-done'>();
    let started = false;
    const mine = b.run(
      () => {
        started = true;
        return 'one';
      },
      { onUnknown: asking.work },
    );
    mine.catch(() => {});
    await asking.started;
    await b.clock.advance(1_001);
    const other = held<string>();
    const theirs = b.run(other.work);
    await other.started;
    asking.end('not-done');
    await inTime(b.clock, mine).catch((error) => expect(error).toMatchObject({ code: 'LEASE_LOST' }));
    expect(started).toBe(false);
    other.end('two');
    expect(await inTime(b.clock, theirs)).toMatchObject({ value: 'two' });
  });

  it('I12 cancelled while onUnknown is asked: the work does not start, and the outcome stays unknown', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    await crashed(b);
    const asking = held<'not-done'>();
    const cancel = new AbortController();
    let started = false;
    const mine = b.run(() => (started = true), { onUnknown: asking.work, signal: cancel.signal });
    mine.catch(() => {});
    await asking.started;
    cancel.abort(new Error('cancelled'));
    asking.end('not-done');
    await expect(inTime(b.clock, mine)).rejects.toThrow('cancelled');
    expect(started).toBe(false);
  });

  it('I4 a step that ended after its lease was over is not written: lost is final, and nobody has to wait another lease', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const step = held<number>();
    const mine = b.run((run) => run.step('slow', step.work));
    mine.catch(() => {});
    await step.started;
    await b.clock.advance(980);
    const before = JSON.stringify(await rows(b));
    step.end(1);
    await expect(inTime(b.clock, mine)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(JSON.stringify(await rows(b))).toBe(before);
  });
});

describe('own writes', () => {
  it('I7 a claim that took effect too late, whose give-back is lost as well, is not told as somebody else in flight', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    // Frozen between sending and the store: the row is fresh there, the deadline is over here.
    b.plan.before = (operation, n) => {
      if (operation === 'create' && n === 1) b.clock.freezeMonotonic(2_000);
    };
    b.plan.replace = { 1: 'lost-request' };
    const result = await inTime(
      b.clock,
      b.run(() => 1),
    ).catch((error) => error);
    expect(result).not.toMatchObject({ kind: 'in-flight' });
  });

  it('I4 an owner whose claim in doubt was taken over does not come back: the next claim of that call has a new one', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const other = held<string>();
    let theirs: Promise<unknown> = Promise.resolve();
    // In doubt, and frozen until another has taken it over and failed.
    b.plan.create = { 1: 'lost-answer' };
    b.plan.before = async (operation, n) => {
      if (operation !== 'create' || n !== 2) return;
      b.clock.freezeMonotonic(1_100);
      theirs = b.run(other.work).catch(() => {});
      await other.started;
      other.fail(new Error('theirs'));
      await theirs;
    };
    const owners: unknown[] = [];
    await inTime(
      b.clock,
      b.run((run) => owners.push(run.fence?.owner)),
    ).catch(() => {});
    const taken = b.store.calls.filter(({ record }) => record?.state === 'running').map(({ record }) => record?.owner);
    expect(owners).toHaveLength(1);
    expect(owners[0]).not.toBe(taken[0]);
  });

  it('I8 a claim that took effect and could not be given back is in doubt: not STORE_UNAVAILABLE, and onStoreDown run does not apply', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none', onStoreDown: 'run' });
    b.plan.before = (operation, n) => {
      if (operation === 'create' && n === 1) b.clock.freezeMonotonic(2_000);
    };
    b.plan.replace = () => 'unavailable';
    b.plan.read = () => 'unavailable';
    let runs = 0;
    await expect(
      inTime(
        b.clock,
        b.run(() => ++runs),
      ),
    ).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(runs).toBe(0);
  });

  it('I5 a completion that makes a vanished row anew does not lower its token', async () => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    const first = held<string>();
    const mine = b.run(first.work);
    await first.started;
    await b.clock.advance(1_001);
    await b.run(() => 'two', { retentionMs: 2_000 });
    const [taken] = await rows(b);
    await b.clock.advance(3_700_000);
    expect(await b.store.purge({})).toEqual({ removed: 1 });
    first.end('one');
    await inTime(b.clock, mine);
    const [made] = await rows(b);
    expect(made?.token).toBeGreaterThan(taken?.token ?? 0);
  });
});

describe('named leases', () => {
  function leaseBench() {
    const clock = virtualClock();
    const plan: Parameters<typeof faultyStore>[1] & object = { timers: clock.timers };
    const store = faultyStore(memoryStore({ clock }), plan);
    return { clock, plan, store, leases: storeLeases(store) };
  }

  it('I8 an acquisition in doubt stays in doubt when the store then goes away', async () => {
    const { clock, plan, leases } = leaseBench();
    plan.create = { 1: 'lost-answer' };
    plan.read = (n) => (n > 1 ? 'unavailable' : undefined);
    const asked = tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock);
    await expect(inTime(clock, asked)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('I7 a lease that came too late and could not be given back is in doubt, not held by somebody else', async () => {
    const { clock, plan, leases } = leaseBench();
    plan.before = (operation, n) => {
      if (operation === 'create' && n === 1) clock.freezeMonotonic(2_000);
    };
    plan.replace = () => 'unavailable';
    const asked = tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock);
    await expect(inTime(clock, asked)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });

  it('I7 an own lease at the very end of its time is not held by somebody else', async () => {
    const { clock, leases } = leaseBench();
    const request = { owner: 'me', leaseMs: 1_000 };
    await leases.acquire('job', request);
    await clock.advance(1_000);
    expect(await leases.acquire('job', request)).toMatchObject({ kind: 'acquired' });
  });

  it('a release while a renewal is asked for: released is said, and no loss is told', async () => {
    const { clock, leases } = leaseBench();
    const got = await tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock);
    if (got.kind !== 'acquired') throw new Error('not acquired');
    const renewal = got.lease.renew().catch((error) => error);
    expect(await inTime(clock, got.lease.release())).toBe('released');
    const renewed = await renewal;
    if (renewed !== undefined) expect(isRerunSafeError(renewed, 'LEASE_LOST')).toBe(true);
    expect(got.lease.signal.aborted).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I4 an acquisition that was given up does not take the lease later, when its look at the row comes back', async () => {
    const { clock, store } = leaseBench();
    // A store that does not listen to the signal: the look of the first request comes back after all is over.
    let reads = 0;
    const deaf = {
      ...store,
      read: async (id: string) => {
        reads += 1;
        const standing = store.read(id);
        if (reads === 1) await new Promise<void>((resolve) => clock.timers.after(2_000, resolve));
        return standing;
      },
      create: (id: string, record: never) => store.create(id, record),
      replace: (id: string, record: never, version: string) => store.replace(id, record, version),
    };
    const leases: LeaseProvider = storeLeases(deaf as never);
    const got = await inTime(clock, tryAcquire(leases, 'job', { leaseMs: 1_000 }, clock), 10_000, 10);
    if (got.kind !== 'acquired') throw new Error('not acquired');
    expect(await inTime(clock, got.lease.release())).toBe('released');
    await clock.advance(2_000);
    expect(await leases.read('job')).toMatchObject({ held: false });
  });
});
