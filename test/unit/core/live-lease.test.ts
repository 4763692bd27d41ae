import { describe, expect, it } from 'vitest';
import { storeMisconfigured, storeUnavailable, writeUnknown } from '../../../src/core/errors.ts';
import { type LeaseOptions, tryAcquire } from '../../../src/core/lease.ts';
import { inTime } from './engine.ts';
import { leaseEvents, type Script, scripted } from './scripted-leases.ts';

const LEASE = 3_000;
const DOWN = storeUnavailable('release', undefined);
const LOST = expect.objectContaining({ code: 'LEASE_LOST' });

async function inHand(script: Script = {}, options: LeaseOptions = {}) {
  const at = scripted(script);
  const got = await tryAcquire(at.leases, 'job', { leaseMs: LEASE, renew: 'none', ...options }, at.clock);
  if (got.kind !== 'acquired') throw new Error(got.kind);
  const owner = at.asked.acquire[0]?.owner;
  return { ...at, lease: got.lease, owner };
}

describe('a lease in hand', () => {
  it('I4 says whose it is', async () => {
    const { lease, owner } = await inHand();
    expect([lease.name, lease.token, lease.fence]).toEqual(['job', 7, { id: 'job', owner, token: 7 }]);
    await lease.release();
  });

  it('I4 I6 once released nothing of it is left, though nobody has taken it', async () => {
    const { lease, asked, clock } = await inHand();
    lease.assertHeld(2_950);
    expect(await lease.release()).toBe('released');
    expect(lease.remainingMs()).toBe(0);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST', message: 'The lease on "job" was released.' }));
    await expect(lease.renew()).rejects.toEqual(LOST);
    expect([asked.renew.length, clock.pendingTimers(), lease.signal.aborted]).toEqual([0, 0, false]);
  });

  it('I4 a release is sent once, by whichever way it is asked for', async () => {
    const { lease, asked, owner } = await inHand();
    const first = lease.release();
    expect(lease.remainingMs(), 'from the moment it is asked for').toBe(0);
    await lease[Symbol.asyncDispose]();
    expect([await first, await lease.release()]).toEqual(['released', 'released']);
    expect(asked.release).toEqual([{ owner, token: 7 }]);
  });

  it('I12 disposed of, it is released', async () => {
    const { lease, asked, clock } = await inHand();
    await lease[Symbol.asyncDispose]();
    expect([asked.release.length, clock.pendingTimers()]).toEqual([1, 0]);
  });

  it('a minimum hold counts from the acquisition, and is not sent once it is over', async () => {
    const early = await inHand({}, { minHoldMs: 1_000 });
    await early.clock.advance(400);
    await early.lease.release();
    expect(early.asked.release).toEqual([{ owner: early.owner, token: 7, holdMs: 600 }]);
    const late = await inHand({}, { minHoldMs: 1_000 });
    await late.clock.advance(1_000);
    await late.lease.release();
    expect(late.asked.release).toEqual([{ owner: late.owner, token: 7 }]);
  });

  it.each([
    [{ slot: 5 }, { slotDone: true }, { slotDone: 5 }],
    [{ slot: 5 }, { slotDone: false }, {}],
    [{ slot: 5 }, {}, {}],
    [{}, { slotDone: true }, {}],
  ])('I1 a slot is marked where there is one and the work says so: %j %j', async (options, how, expected) => {
    const { lease, asked, owner } = await inHand({}, options);
    await lease.release(how);
    expect(asked.release).toEqual([{ owner, token: 7, ...expected }]);
  });

  it.each([
    ['the provider is away, three times', DOWN, undefined, 3],
    ['it is in doubt, three times', writeUnknown('release', undefined), undefined, 3],
    ['it is refused for good, once', storeMisconfigured('no container.'), undefined, 1],
    ['it fails for no reason known, once', new Error('bug'), undefined, 1],
    ['the invocation is over, once', DOWN, 0, 1],
  ])('I8 a release without an answer, %s: unknown, and never thrown', async (_, failure, leftMs, tries) => {
    const { lease, asked, clock } = await inHand(
      { release: () => Promise.reject(failure) },
      leftMs === undefined ? {} : { remainingMs: () => leftMs },
    );
    const startMs = clock.nowMs();
    let tookMs = 0;
    const released = lease.release().finally(() => {
      tookMs = clock.nowMs() - startMs;
    });
    expect(await inTime(clock, released, 60_000, 1)).toBe('unknown');
    expect(asked.release).toHaveLength(tries);
    // Nobody waits after the last try.
    if (tries === 3) expect(tookMs).toBeLessThan((50 + 75) * 1.25 + 3);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([
    [undefined, 5_000],
    [1_000, 1_000],
  ])('I10 a release that hangs, with %s ms of the invocation left, is given up after %d ms', async (leftMs, limitMs) => {
    const { lease, clock, atMs } = await inHand(
      { release: (n) => (n === 1 ? new Promise<never>(() => {}) : 'released') },
      leftMs === undefined ? {} : { remainingMs: () => leftMs },
    );
    expect(await inTime(clock, lease.release(), 60_000, 1)).toBe('released');
    expect(atMs.release[1]).toBeGreaterThanOrEqual(limitMs + 37);
    expect(atMs.release[1]).toBeLessThanOrEqual(limitMs + 64);
  });

  it('I6 one that ran out and was free when released is lost all the same: somebody may have had it', async () => {
    const { lease, clock } = await inHand();
    await clock.advance(LEASE);
    const { events, stop } = leaseEvents();
    expect(await lease.release({ slotDone: true })).toBe('lost');
    stop();
    expect(events).toEqual([{ event: 'released', name: 'job', provider: 'scripted', token: 7, reason: 'lost' }]);
  });

  it('I4 one that somebody else has is lost, also where nothing was told before', async () => {
    const { lease } = await inHand({ release: () => 'lost' });
    const { events, stop } = leaseEvents();
    expect(await lease.release()).toBe('lost');
    stop();
    expect(events).toEqual([{ event: 'released', name: 'job', provider: 'scripted', token: 7, reason: 'lost' }]);
  });
});

describe('renewing a lease in hand', () => {
  it('I6 counts from when the renewal was sent, and is told', async () => {
    const { lease, clock, asked, owner, script } = await inHand();
    script.renew = () => {
      clock.freezeMonotonic(100);
      return 'renewed';
    };
    await clock.advance(1_000);
    const { events, stop } = leaseEvents();
    await lease.renew();
    stop();
    expect(lease.remainingMs()).toBe(2_850);
    expect(asked.renew).toEqual([{ owner, token: 7, leaseMs: LEASE }]);
    expect(events).toEqual([{ event: 'renewed', name: 'job', provider: 'scripted', token: 7 }]);
    await lease.release();
  });

  it('I4 I6 one that somebody else has: lost, told, and for good', async () => {
    const { lease, script, asked, clock } = await inHand({ renew: () => 'lost' });
    const { events, stop } = leaseEvents();
    const error = await lease.renew().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('The lease on "job" is over: somebody else took it over') });
    expect(lease.signal.reason).toBe(error);
    script.renew = () => 'renewed';
    await expect(lease.renew()).rejects.toBe(error);
    stop();
    expect(asked.renew).toHaveLength(1);
    expect(events).toEqual([{ event: 'lost', name: 'job', provider: 'scripted', token: 7, error }]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I6 one that is confirmed after the deadline is lost: somebody may have had it', async () => {
    const { lease, clock, script } = await inHand();
    script.renew = () => {
      clock.freezeMonotonic(LEASE);
      return 'renewed';
    };
    const { events, stop } = leaseEvents();
    await expect(lease.renew()).rejects.toEqual(LOST);
    stop();
    expect(events.map(({ event }) => event)).toEqual(['lost']);
  });

  it('I8 one without an answer is doubt: the lease goes on to its end', async () => {
    const { lease, clock, atMs } = await inHand({ renew: () => new Promise<never>(() => {}) });
    await expect(inTime(clock, lease.renew(), 60_000, 1)).rejects.toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: expect.stringContaining('500 ms'),
    });
    lease.assertHeld();
    expect(atMs.renew).toEqual([0]);
    await inTime(clock, lease.release());
  });

  it('by itself, every third of the lease, until released', async () => {
    const { lease, clock, atMs } = await inHand({}, { renew: 'auto' });
    await clock.advance(10_000);
    expect(atMs.renew.slice(0, 3)).toEqual([1_000, 2_000, 3_000]);
    lease.assertHeld();
    await lease.release();
    await clock.advance(10_000);
    expect(atMs.renew).toHaveLength(10);
  });

  it('not by itself where that was chosen', async () => {
    const { clock, asked, lease } = await inHand();
    await clock.advance(LEASE);
    expect(asked.renew).toEqual([]);
    await lease.release();
  });

  it('I6 a renewal that waits behind a release is not sent', async () => {
    let letGo = (): void => {};
    const { lease, asked, clock } = await inHand({
      renew: (n) =>
        n === 1
          ? new Promise((resolve) => {
              letGo = () => resolve('renewed');
            })
          : 'renewed',
    });
    const first = lease.renew();
    const second = lease.renew().catch((error: unknown) => error);
    await clock.settle();
    const released = lease.release();
    letGo();
    await first;
    expect(await second).toMatchObject({ code: 'LEASE_LOST', message: 'The lease on "job" was released.' });
    expect([await released, asked.renew.length]).toEqual(['released', 1]);
  });
});
