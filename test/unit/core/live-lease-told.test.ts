import { describe, expect, it } from 'vitest';
import { storeUnavailable } from '../../../src/core/errors.ts';
import { type LeaseOptions, tryAcquire } from '../../../src/core/lease.ts';
import { inTime } from './engine.ts';
import { leaseEvents, type Script, scripted } from './scripted-leases.ts';

const LEASE = 3_000;
const WHO = { name: 'job', provider: 'scripted', token: 7 };

async function inHand(script: Script = {}, options: LeaseOptions = {}) {
  const at = scripted(script);
  const got = await tryAcquire(at.leases, 'job', { leaseMs: LEASE, renew: 'none', ...options }, at.clock);
  if (got.kind !== 'acquired') throw new Error(got.kind);
  return { ...at, lease: got.lease };
}

describe('what is told of a lease in hand', () => {
  it('a renewal, a loss and a release, each with what there is to say and no more', async () => {
    const { lease } = await inHand();
    const other = await inHand({ renew: () => 'lost' });
    const { events, stop } = leaseEvents();
    await lease.renew();
    await lease.release();
    const error = await other.lease.renew().catch((thrown: unknown) => thrown);
    stop();
    expect(events).toStrictEqual([
      { event: 'renewed', ...WHO },
      { event: 'released', ...WHO },
      { event: 'lost', ...WHO, error },
    ]);
  });

  it.each([
    ['the slot was marked', {}, { slotDone: true }, { lastSuccessAgeMs: 300 }],
    ['the work did not say that it is done', {}, { slotDone: false }, {}],
    ['somebody else had it', { release: () => 'lost' as const }, { slotDone: true }, { reason: 'lost' }],
    ['no answer came', { release: () => Promise.reject(new Error('bug')) }, { slotDone: true }, { reason: 'unknown' }],
  ])('I1 how long ago the slot was due, only where it is done: %s', async (_, script, how, more) => {
    const at = scripted(script);
    const got = await tryAcquire(at.leases, 'job', { leaseMs: LEASE, renew: 'none', slot: at.clock.nowMs() }, at.clock);
    if (got.kind !== 'acquired') throw new Error(got.kind);
    await at.clock.advance(300);
    const { events, stop } = leaseEvents();
    await got.lease.release(how);
    stop();
    expect(events).toStrictEqual([{ event: 'released', ...WHO, ...more }]);
  });

  it('I8 one that ran out, and whose release gets no answer, is unknown: somebody may have had it, and it may not be free', async () => {
    const { lease, clock } = await inHand({ release: () => Promise.reject(new Error('bug')) });
    await clock.advance(LEASE);
    const { events, stop } = leaseEvents();
    expect(await lease.release()).toBe('unknown');
    stop();
    expect(events).toStrictEqual([{ event: 'released', ...WHO, reason: 'unknown' }]);
  });
});

describe('a lease within an invocation', () => {
  it('I10 is not counted on beyond its end', async () => {
    const { lease } = await inHand({}, { remainingMs: () => 500 });
    expect(lease.remainingMs()).toBe(500);
    lease.assertHeld(500);
    expect(() => lease.assertHeld(501)).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await lease.release();
  });

  it("I12 the caller's own cancellation reaches the work, and releases nothing by itself", async () => {
    const caller = new AbortController();
    const { lease, asked } = await inHand({}, { signal: caller.signal });
    const reason = new Error('shutting down');
    caller.abort(reason);
    expect(lease.signal.reason).toBe(reason);
    lease.assertHeld();
    expect(asked.release).toEqual([]);
    await lease.release();
  });

  it('I8 a release that is tried again waits in between', async () => {
    const { lease, clock, atMs } = await inHand({ release: () => Promise.reject(storeUnavailable('release', undefined)) });
    await inTime(clock, lease.release(), 60_000, 1);
    const [first = 0, second = 0, third = 0] = atMs.release;
    expect(second - first).toBeGreaterThanOrEqual(37);
    expect(third - second).toBeGreaterThanOrEqual(56);
  });
});

describe('what is asked of the provider', () => {
  it('I1 to give it back, and to mark a slot only where there is one', async () => {
    const { lease, asked } = await inHand();
    await lease.release({ slotDone: true });
    expect(asked.release).toStrictEqual([{ owner: asked.acquire[0]?.owner, token: 7 }]);
  });
});

describe('renewals of a lease that is over', () => {
  it('I6 one that waited behind another until the lease was over is not sent', async () => {
    const { lease, clock, asked } = await inHand({ renew: () => new Promise<never>(() => {}) });
    await clock.advance(LEASE - 200);
    const first = lease.renew().catch((error: unknown) => error);
    const second = lease.renew().catch((error: unknown) => error);
    await clock.advance(LEASE);
    expect([await first, await second]).toMatchObject([{ code: 'WRITE_UNKNOWN' }, { code: 'LEASE_LOST' }]);
    expect(asked.renew).toHaveLength(1);
    await lease.release();
  });
});
