import { describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import { tryAcquire, withLease } from '../../src/core/lease.ts';
import { LEASE_OPERATION, storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { StoreFault, StoreOperation } from '../../src/testing/index.ts';
import { inTime, LOST_ANSWERS } from '../unit/core/engine.ts';
import { bench, LEASE_MS, leaseEvents, NAME } from './bench.ts';

const LOST = expect.objectContaining({ code: 'LEASE_LOST' });

describe('what has gone wrong with the holders of other libraries', () => {
  it('ShedLock #132 a pause between looking and writing: whoever came in between has it, and the late one is told so', async () => {
    const { clock, plan, rivals, acquire } = bench();
    const owner = 'the one in between';
    plan.before = async (operation, n) => {
      if (operation !== 'create' || n !== 1) return;
      clock.freezeMonotonic(2 * LEASE_MS);
      expect((await rivals.acquire(NAME, { owner, leaseMs: LEASE_MS })).kind).toBe('acquired');
    };
    expect(await acquire()).toMatchObject({ kind: 'held' });
    expect(await rivals.read(NAME)).toMatchObject({ held: true, owner });
  });

  it('ShedLock #317 two holders of one process, with one label and one provider, are two', async () => {
    const { acquire, mine, leases } = bench();
    const first = await mine({ label: 'host-1' });
    expect(await acquire({ label: 'host-1' })).toMatchObject({ kind: 'held', label: 'host-1' });
    await first.release();
    const second = await mine({ label: 'host-1' });
    expect(await leases.release(NAME, { owner: first.fence.owner, token: second.token })).toBe('lost');
    expect(await first.release()).toBe('released');
    expect(await leases.read(NAME)).toMatchObject({ held: true, token: second.token });
    await second.release();
  });

  it('awslabs PR #116, tristanls #21, redis-semaphore #205 released while a renewal is under way: neither throws, and the renewal brings nothing back', async () => {
    for (const fault of [{ delayMs: 400 }, { landsAfterMs: 400 }, 'hang-applied', 'hang', 'retried-lost-answer'] as StoreFault[]) {
      const { clock, plan, store, mine, rivals } = bench();
      const lease = await mine();
      plan.replace = { 1: fault };
      await clock.advance(LEASE_MS / 3 + 1);
      expect(store.counts.replace, JSON.stringify(fault)).toBe(1);
      expect(await inTime(clock, lease.release()), JSON.stringify(fault)).toBe('released');
      await clock.advance(10_000);
      expect(await rivals.read(NAME), JSON.stringify(fault)).toMatchObject({ held: false, token: lease.token });
      expect(clock.pendingTimers()).toBe(0);
    }
  });

  it('awslabs PR #116 renewed while the release is under way: refused, and what was released stays so', async () => {
    const { clock, plan, store, mine, rivals } = bench();
    const lease = await mine();
    plan.replace = { 1: { delayMs: 500 } };
    const releasing = lease.release();
    await clock.advance(100);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await inTime(clock, releasing)).toBe('released');
    expect(await rivals.read(NAME)).toMatchObject({ held: false });
    expect(store.counts.replace).toBe(1);
  });

  it('awslabs #34 #93, python_dynamodb_lock #366, dynamolock #778 whoever has just started takes a dead lease at the first look', async () => {
    const { clock, mine, store } = bench();
    await mine({ renew: 'none' });
    await clock.advance(LEASE_MS + 1);
    const before = { ...store.counts };
    const got = await storeLeases(store).acquire(NAME, { owner: 'just started', leaseMs: 1_000 });
    expect(got.kind).toBe('acquired');
    expect(store.counts).toEqual({ ...before, read: before.read + 1, replace: before.replace + 1 });
  });

  it.each(['unavailable', 'lost-request', 'lost-answer', 'hang'] as const)(
    'iceberg #2034, azure-functions-langgraph-python #384 two renewals that meet %s do not end the lease',
    async (fault) => {
      const { clock, plan, mine, acquire } = bench();
      const lease = await mine();
      plan.replace = { 1: fault, 2: fault };
      await clock.advance(3 * LEASE_MS);
      lease.assertHeld();
      expect(lease.signal.aborted).toBe(false);
      expect(await acquire()).toMatchObject({ kind: 'held' });
      await lease.release();
    },
  );

  it('node-redlock #131 #168 #309 #362 the lease ran out and somebody else has it: what the work returns is delivered all the same', async () => {
    const { clock, leases, rivals } = bench();
    const result = withLease(
      leases,
      NAME,
      { leaseMs: LEASE_MS, renew: 'none' },
      async () => {
        await clock.advance(LEASE_MS + 1);
        expect((await rivals.acquire(NAME, { owner: 'the next', leaseMs: 60_000 })).kind).toBe('acquired');
        return 42;
      },
      clock,
    );
    expect(await inTime(clock, result)).toEqual({ kind: 'done', value: 42, released: 'lost' });
    expect(await rivals.read(NAME)).toMatchObject({ held: true, owner: 'the next' });
  });

  it('node-redlock #185 held, lost, in doubt and out of reach are four different things', async () => {
    const { clock, plan, acquire, mine, rivals } = bench();
    const lease = await mine({ renew: 'none' });
    expect(await acquire()).toMatchObject({ kind: 'held' });
    plan.replace = () => 'lost-request';
    await expect(inTime(clock, lease.renew())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    plan.replace = () => 'unavailable';
    await expect(inTime(clock, lease.renew())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    delete plan.replace;
    lease.assertHeld();
    await rivals.break(NAME);
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await lease.release();
  });

  const FAULTS: StoreFault[] = [...LOST_ANSWERS, 'unavailable', { delayMs: 2_000 }];
  const EVERYWHERE = (['read', 'create', 'replace'] as StoreOperation[]).flatMap((operation) => FAULTS.map((fault) => ({ operation, fault })));
  it('node-redlock #283, redis-semaphore #199 no rejection is left unhandled and no timer behind, whichever request fails for ever', async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listener);
    let lost = 0;
    for (const { operation, fault } of EVERYWHERE) {
      for (const from of ['the start', 'the acquisition'] as const) {
        const { clock, plan, acquire } = bench();
        const spoil = (): void => {
          plan[operation] = () => fault;
        };
        if (from === 'the start') spoil();
        const got = await acquire().catch(() => undefined);
        spoil();
        await clock.advance(3 * LEASE_MS);
        if (got?.kind === 'acquired') {
          lost += Number(got.lease.signal.aborted);
          await inTime(clock, got.lease.release());
        }
        await clock.advance(20_000);
        expect(clock.pendingTimers(), `${operation} ${JSON.stringify(fault)} from ${from}`).toBe(0);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off('unhandledRejection', listener);
    expect(unhandled).toEqual([]);
    expect(lost).toBeGreaterThan(0);
  });

  it('redis-semaphore #175 a renewal does not pass over a gap in which another held it and released it', async () => {
    const { clock, mine, rivals } = bench();
    const lease = await mine({ renew: 'none' });
    clock.freezeMonotonic(LEASE_MS + 1);
    const got = await rivals.acquire(NAME, { owner: 'in the gap', leaseMs: 1_000 });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    await rivals.release(NAME, { owner: 'in the gap', token: got.token });
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await lease.release()).toBe('lost');
    expect(await rivals.read(NAME)).toMatchObject({ held: false, token: got.token });
  });

  it('redis-semaphore #175 a renewal that is answered after the lease is over throws, and no renewal is told', async () => {
    const { clock, plan, mine } = bench();
    const events = await leaseEvents(async () => {
      const lease = await mine({ renew: 'none' });
      await clock.advance(LEASE_MS - 200);
      plan.replace = { 1: { delayMs: 400 } };
      const renewing = lease.renew();
      renewing.catch(() => {});
      await clock.advance(500);
      expect(lease.signal.aborted).toBe(true);
      await expect(renewing).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await lease.release()).toBe('lost');
    });
    expect(events).toEqual(['acquired', 'lost', 'released']);
  });

  it('kubernetes #23731 #44887 a definite loss is final: told once, and no renewal is tried after it', async () => {
    const { clock, store, mine, rivals } = bench();
    const events = await leaseEvents(async () => {
      const lease = await mine();
      let aborts = 0;
      lease.signal.addEventListener('abort', () => {
        aborts += 1;
      });
      await rivals.break(NAME);
      await clock.advance(LEASE_MS / 3 + 1);
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
      const { replace } = store.counts;
      await clock.advance(5 * LEASE_MS);
      await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(() => lease.assertHeld()).toThrow(LOST);
      expect(store.counts.replace).toBe(replace);
      expect(aborts).toBe(1);
      expect(await lease.release()).toBe('lost');
    });
    expect(events.filter((event) => event === 'lost')).toHaveLength(1);
  });

  it('etcd #11456 a lease that came after a long wait runs from the request that got it, all of it', async () => {
    const { clock, leases, mine } = bench();
    const first = await mine();
    const waiting = tryAcquire(leases, NAME, { leaseMs: 1_000, waitMs: 60_000, renew: 'none' }, clock);
    await clock.advance(20_000);
    await first.release();
    const got = await inTime(clock, waiting, 60_000, 1);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    expect(got.lease.remainingMs()).toBeGreaterThan(900);
    got.lease.assertHeld(900);
    await got.lease.release();
  });

  it('pekko-management #911 an acquisition that was given up and lands all the same is never reported, and is free again after its lease', async () => {
    const { clock, plan, leases, rivals, mine } = bench();
    plan.create = () => ({ landsAfterMs: 5_000 });
    plan.replace = () => 'lost-request';
    await expect(inTime(clock, tryAcquire(leases, NAME, { leaseMs: LEASE_MS }, clock))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    delete plan.create;
    delete plan.replace;
    await clock.advance(5_000);
    expect(await rivals.read(NAME)).toMatchObject({ held: true });
    await clock.advance(LEASE_MS + 1);
    const next = await mine();
    next.assertHeld();
    await next.release();
  });

  it('redisson #2669 #4822 a row that fell back to an older state gives a token above all that were given out', async () => {
    const { clock, plain, leases, mine } = bench();
    const id = recordId(LEASE_OPERATION, [], keyParts(NAME));
    const tokens: number[] = [];
    const turn = async (): Promise<void> => {
      await clock.advance(1_000);
      const lease = await mine();
      tokens.push(lease.token);
      await lease.release();
    };
    await turn();
    const backup = await plain.read(id);
    await turn();
    await turn();
    const standing = await plain.read(id);
    if (backup === undefined || standing === undefined) throw new Error('no row');
    expect(await plain.replace(id, backup.record, standing.version)).toMatchObject({ ok: true });
    expect(await leases.read(NAME)).toMatchObject({ token: tokens[0] });
    await turn();
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('bullmq #3183, bull #308 the event loop stood still for longer than the lease: assertHeld throws, though no signal has come', async () => {
    const got = await tryAcquire(storeLeases(memoryStore()), NAME, { leaseMs: 150 });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    got.lease.assertHeld();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    expect(got.lease.signal.aborted).toBe(false);
    expect(() => got.lease.assertHeld()).toThrow(LOST);
    expect(got.lease.signal.aborted).toBe(true);
    expect(await got.lease.release()).toBe('lost');
  });

  it.each([
    ['the monotonic clock stands still, the wall clock goes on', (b: ReturnType<typeof bench>) => b.clock.freezeMonotonic(LEASE_MS)],
    [
      'the wall clock is set an hour back, the monotonic clock goes on',
      async (b: ReturnType<typeof bench>) => {
        b.clock.stepWall(-3_600_000);
        await b.clock.advance(LEASE_MS);
      },
    ],
    ['the wall clock is set an hour forward', (b: ReturnType<typeof bench>) => b.clock.stepWall(3_600_000)],
  ] as const)('vault-lambda-extension #150, DarkHours #204 the lease ends when either clock says so: %s', async (_, happen) => {
    const b = bench();
    const lease = await b.mine({ renew: 'none' });
    lease.assertHeld(LEASE_MS - 100);
    await happen(b);
    expect(() => lease.assertHeld()).toThrow(LOST);
    await inTime(b.clock, lease.release());
  });

  it('ShedLock #1542 #1401 after the release it is free at the later of now and start + minimum hold', async () => {
    const { clock, acquire, mine } = bench();
    const long = await mine({ minHoldMs: 5_000 });
    await clock.advance(2_000);
    await long.release();
    await clock.advance(2_990);
    expect(await acquire({}, undefined)).toMatchObject({ kind: 'held' });
    await clock.advance(20);
    const short = await mine({ minHoldMs: 1_000 });
    await clock.advance(1_001);
    await short.release();
    await (await mine()).release();
  });
});
