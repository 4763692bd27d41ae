import { describe, expect, it } from 'vitest';
import { storeMisconfigured, storeUnavailable, writeUnknown } from '../../../src/core/errors.ts';
import { type LeaseOptions, tryAcquire, withLease } from '../../../src/core/lease.ts';
import { inTime } from './engine.ts';
import { leaseEvents, type Script, scripted } from './scripted-leases.ts';

const LEASE = 3_000;
const OWN = 2_950;
const DOWN = storeUnavailable('acquire', undefined);
const DOUBT = writeUnknown('acquire', undefined);
const about = (ms: number) => expect.toSatisfy((time: number) => time >= ms * 0.74 && time <= ms * 1.26, `${ms} ms, give or take a quarter`);

function asking(script: Script, options: LeaseOptions = {}) {
  const at = scripted(script);
  const got = inTime(
    at.clock,
    tryAcquire(at.leases, 'job', { leaseMs: LEASE, renew: 'none', ...options }, at.clock).catch((error: unknown) => error),
    600_000,
    1,
  );
  return { ...at, got };
}

describe('asking for a named lease', () => {
  it('what was not given is not sent', async () => {
    const plain = asking({});
    await plain.got;
    expect(plain.asked.acquire).toStrictEqual([{ owner: expect.any(String), leaseMs: LEASE }]);
    const full = asking({}, { label: 'host', slot: 5 });
    await full.got;
    expect(full.asked.acquire).toEqual([{ owner: expect.any(String), leaseMs: LEASE, label: 'host', slot: 5 }]);
    expect(full.clock.pendingTimers()).toBe(1);
  });

  it('I6 the lease counts from before it was asked for', async () => {
    const { clock, got } = asking({ acquire: async () => ({ kind: 'acquired', token: 7 }) });
    const result = (await got) as Awaited<ReturnType<typeof tryAcquire>>;
    if (result.kind !== 'acquired') throw new Error(result.kind);
    clock.freezeMonotonic(400);
    expect(result.lease.remainingMs()).toBe(OWN - 400);
  });

  it.each([OWN, OWN + 1])('I6 an answer after %d ms is given back, and asked for anew by another name; not for ever', async (lateMs) => {
    const at = scripted();
    at.script.acquire = () => {
      at.clock.freezeMonotonic(lateMs);
      return { kind: 'acquired', token: 7 };
    };
    const got = tryAcquire(at.leases, 'job', { leaseMs: LEASE }, at.clock).catch((error: unknown) => error);
    expect(await inTime(at.clock, got)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`scripted answers later than the lease of ${LEASE} ms it grants`),
    });
    const owners = at.asked.acquire.map(({ owner }) => owner);
    expect([owners.length, new Set(owners).size]).toEqual([3, 3]);
    expect(at.asked.release).toEqual(owners.map((owner) => ({ owner, token: 0 })));
    expect(at.clock.pendingTimers()).toBe(0);
  });

  it('I6 an answer a ms before the end of the lease is a lease', async () => {
    const at = scripted();
    at.script.acquire = () => {
      at.clock.freezeMonotonic(OWN - 1);
      return { kind: 'acquired', token: 7 };
    };
    expect(await inTime(at.clock, tryAcquire(at.leases, 'job', { leaseMs: LEASE, renew: 'none' }, at.clock))).toMatchObject({ kind: 'acquired' });
  });

  it.each([
    ['the provider is away, three times', DOWN, undefined, 3],
    ['it is refused for good, once', storeMisconfigured('no container.'), undefined, 1],
    ['it fails for no reason known, once', new Error('bug'), undefined, 1],
    ['the invocation is over, once', DOWN, 0, 1],
    ['the invocation is long over, once', DOWN, -1, 1],
  ])('I8 a late one cannot be given back, %s: that is doubt', async (_, failure, leftMs, tries) => {
    const at = scripted();
    at.script.acquire = () => {
      at.clock.freezeMonotonic(OWN);
      return { kind: 'acquired', token: 7 };
    };
    at.script.release = () => Promise.reject(failure);
    const options = { leaseMs: LEASE, ...(leftMs === undefined ? {} : { remainingMs: () => leftMs }) };
    expect(
      await inTime(
        at.clock,
        tryAcquire(at.leases, 'job', options, at.clock).catch((error: unknown) => error),
      ),
    ).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: expect.stringContaining('the lease on "job", which came too late and could not be given back'),
    });
    expect(at.asked.release).toHaveLength(tries);
  });

  it('I1 a slot that has passed: said, or run without it where that was chosen', async () => {
    const passed: Script = { acquire: (_, { slot }) => (slot === undefined ? { kind: 'acquired', token: 7 } : { kind: 'slot-passed', lastSlot: 9 }) };
    expect(await asking(passed, { slot: 5 }).got).toEqual({ kind: 'slot-passed', lastSlot: 9 });
    const all = asking(passed, { slot: 5, onPassed: 'run' });
    const result = (await all.got) as Awaited<ReturnType<typeof tryAcquire>>;
    expect(all.asked.acquire.map(({ slot }) => slot)).toEqual([5, undefined]);
    if (result.kind !== 'acquired') throw new Error(result.kind);
    await result.lease.release({ slotDone: true });
    expect(all.asked.release[0]).not.toHaveProperty('slotDone');
  });
});

describe('waiting for a named lease', () => {
  const HELD: Script = { acquire: () => ({ kind: 'held' }) };

  it('one look where no wait was asked for', async () => {
    const { got, asked } = asking(HELD);
    expect(await got).toEqual({ kind: 'held' });
    expect(asked.acquire).toHaveLength(1);
  });

  it.each([
    [{ waitMs: 500 }, 500],
    [{ waitMs: 5_000, remainingMs: undefined }, 5_000],
  ] as const)('I10 %j: looks with growing pauses, the last at its end', async (options, endMs) => {
    const { got, atMs } = asking(HELD, { waitMs: options.waitMs });
    expect(await got).toEqual({ kind: 'held' });
    expect(atMs.acquire.at(-1)).toBe(endMs);
    const pauses = atMs.acquire.slice(1).map((time, n) => time - (atMs.acquire[n] as number));
    expect(pauses.slice(0, 3)).toEqual([about(50), about(75), about(112.5)]);
  });

  it('I10 no longer than the invocation', async () => {
    const at = scripted(HELD);
    const startMs = at.clock.nowMs();
    const remainingMs = () => 300 - (at.clock.nowMs() - startMs);
    expect(await inTime(at.clock, tryAcquire(at.leases, 'job', { leaseMs: LEASE, waitMs: 5_000, remainingMs }, at.clock), 10_000, 1)).toEqual({
      kind: 'held',
    });
    expect(at.atMs.acquire.at(-1)).toBe(300);
  });

  it.each([{ kind: 'slot-done' }, { kind: 'slot-passed', lastSlot: 9 }] as const)(
    'I1 nobody waits for %j: that passes for nobody',
    async (answer) => {
      const { got, asked } = asking({ acquire: () => answer }, { waitMs: 5_000, slot: 5 });
      expect(await got).toEqual(answer);
      expect(asked.acquire).toHaveLength(1);
    },
  );

  it('I12 cancelled before: nothing is asked', async () => {
    const reason = new Error('cancelled');
    const { got, asked } = asking(HELD, { signal: AbortSignal.abort(reason) });
    expect(await got).toBe(reason);
    expect(asked.acquire).toEqual([]);
  });
});

describe('no answer to the question for a lease', () => {
  it('I7 it is asked again under the same name', async () => {
    const { got, asked, clock } = asking({ acquire: (n) => (n < 3 ? Promise.reject(DOUBT) : { kind: 'acquired', token: 7 }) });
    const result = (await got) as Awaited<ReturnType<typeof tryAcquire>>;
    const [first, second, third] = asked.acquire.map(({ owner }) => owner);
    expect([second, third]).toEqual([first, first]);
    if (result.kind !== 'acquired') throw new Error(result.kind);
    expect(result.lease.fence).toEqual({ id: 'job', owner: first, token: 7 });
    expect(asked.release).toEqual([]);
    await result.lease.release();
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I8 a provider that is away, and was so at first: said at once, nothing is given back', async () => {
    const { got, asked } = asking({ acquire: () => Promise.reject(DOWN) });
    expect(await got).toBe(DOWN);
    expect([asked.acquire.length, asked.release.length]).toEqual([1, 0]);
  });

  it('I8 one that is away after a request without an answer does not settle that: asked until the lease is over, then given back', async () => {
    const { got, asked, atMs } = asking({ acquire: (n) => Promise.reject(n === 1 ? DOUBT : DOWN) });
    expect(await got).toBe(DOUBT);
    expect(asked.acquire.length).toBeGreaterThan(3);
    expect(asked.release).toEqual([{ owner: asked.acquire[0]?.owner, token: 0 }]);
    expect(atMs.acquire.at(-1)).toBeLessThan(OWN);
    expect(atMs.acquire.at(-1)).toBeGreaterThan(OWN - 1_300);
  });

  it('I8 what is refused for good after a request without an answer is said', async () => {
    const failure = storeMisconfigured('no container.');
    const { got, asked } = asking({ acquire: (n) => Promise.reject(n === 1 ? DOUBT : failure) });
    expect(await got).toBe(failure);
    expect(asked.acquire).toHaveLength(2);
  });

  it('I10 a request that hangs is given up after a quarter of the lease', async () => {
    const { got, atMs, clock } = asking({ acquire: (n) => (n === 1 ? new Promise<never>(() => {}) : { kind: 'slot-done' }) });
    expect(await got).toEqual({ kind: 'slot-done' });
    expect((atMs.acquire[1] as number) - LEASE / 4).toEqual(about(50));
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 cancelled meanwhile: the reason, and what had landed is given back', async () => {
    const reason = new Error('cancelled');
    const caller = new AbortController();
    const { got, asked } = asking(
      {
        acquire: () => {
          caller.abort(reason);
          return Promise.reject(DOUBT);
        },
      },
      { signal: caller.signal },
    );
    expect(await got).toBe(reason);
    expect(asked.release).toEqual([{ owner: asked.acquire[0]?.owner, token: 0 }]);
  });
});

describe('what is told of a lease', () => {
  it('which, of whom, since when a slot was done, and why it was skipped', async () => {
    const at = scripted({ acquire: () => ({ kind: 'acquired', token: 7, lastSlot: scripted().clock.nowMs() - 60 }) });
    const { events, stop } = leaseEvents();
    const value = await withLease(at.leases, 'job', { slot: 5 }, () => 1, at.clock);
    at.script.acquire = () => ({ kind: 'held', lastSlot: at.clock.nowMs() - 40, retryAfterMs: 3 });
    await tryAcquire(at.leases, 'job', {}, at.clock);
    at.script.acquire = () => ({ kind: 'slot-done' });
    await tryAcquire(at.leases, 'job', { slot: at.clock.nowMs() - 20 }, at.clock);
    at.script.acquire = () => ({ kind: 'slot-passed', lastSlot: at.clock.nowMs() + 20 });
    await tryAcquire(at.leases, 'job', { slot: 5 }, at.clock);
    stop();
    expect(value).toEqual({ kind: 'done', value: 1, released: 'released' });
    const all = { name: 'job', provider: 'scripted' };
    expect(events).toEqual([
      { ...all, event: 'acquired', token: 7, slot: 5, lastSuccessAgeMs: 60 },
      { ...all, event: 'released', token: 7, lastSuccessAgeMs: at.clock.nowMs() - 5 },
      { ...all, event: 'skipped', reason: 'held', lastSuccessAgeMs: 40 },
      { ...all, event: 'skipped', reason: 'slot-done', slot: at.clock.nowMs() - 20, lastSuccessAgeMs: 20 },
      { ...all, event: 'skipped', reason: 'slot-passed', slot: 5, lastSuccessAgeMs: 0 },
    ]);
  });

  it.each([
    ['no provider', {}, 'job', {}, 'tryAcquire: the first argument must be an object with acquire, renew, release.'],
    ['no name', undefined, '', {}, 'tryAcquire: the name must be a string of 1 to 512 characters, without control characters.'],
    ['too short', undefined, 'job', { leaseMs: 100 }, undefined],
    ['below the least', undefined, 'job', { leaseMs: 99 }, 'tryAcquire: leaseMs must be a whole number, at least 100, at most 2147483647.'],
    ['above the most', undefined, 'job', { leaseMs: 100_001 }, 'tryAcquire: leaseMs must be from 100 to 100000 for scripted.'],
    ['the most', undefined, 'job', { leaseMs: 100_000 }, undefined],
  ])('options: %s', async (_, provider, name, options, said) => {
    const at = scripted();
    const got = await tryAcquire((provider ?? at.leases) as never, name, { renew: 'none', ...options }, at.clock).catch((error: Error) => error);
    expect(got instanceof Error ? got.message : undefined).toBe(said);
  });

  it('the lease is a minute, or the most that the provider allows; and its least counts', async () => {
    const at = scripted();
    await tryAcquire(at.leases, 'job', { renew: 'none' }, at.clock);
    await tryAcquire({ ...at.leases, limits: { minLeaseMs: 15_000, maxLeaseMs: 30_000 } }, 'job', { renew: 'none' }, at.clock);
    expect(at.asked.acquire.map(({ leaseMs }) => leaseMs)).toEqual([60_000, 30_000]);
    const short = tryAcquire({ ...at.leases, limits: { minLeaseMs: 15_000, maxLeaseMs: 30_000 } }, 'job', { leaseMs: 14_999 }, at.clock);
    await expect(short).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('work that is no function is refused before anything is asked', async () => {
    const at = scripted();
    await expect(withLease(at.leases, 'job', {}, 5 as never, at.clock)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'withLease: the work must be a function.',
    });
    expect(at.asked.acquire).toEqual([]);
  });

  it('I6 work does not start on a lease that ran out while it was told of; it is released', async () => {
    const at = scripted({ acquire: () => ({ kind: 'acquired', token: 7 }) });
    const { stop } = leaseEvents();
    const late = { ...at.clock, clock: { ...at.clock.clock } };
    let looks = 0;
    late.clock.wallMs = () => {
      looks += 1;
      return at.clock.clock.wallMs() + (looks > 4 ? 60_000 : 0);
    };
    let ran = false;
    await expect(withLease(at.leases, 'job', { leaseMs: LEASE, renew: 'none' }, () => (ran = true), late as never)).rejects.toMatchObject({
      code: 'LEASE_LOST',
    });
    stop();
    expect([ran, at.asked.release.length]).toEqual([false, 1]);
  });
});
