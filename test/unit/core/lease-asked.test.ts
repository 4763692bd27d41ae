import { describe, expect, it } from 'vitest';
import { LEASE_RULES, type LeaseOptions, tryAcquire, withLease } from '../../../src/core/lease.ts';
import type { Rule } from '../../../src/core/options.ts';
import type { Acquired } from '../../../src/core/ports.ts';
import { memoryStore } from '../../../src/index.ts';
import { leaseEvents, scripted } from './scripted-leases.ts';

const method = (): void => {};

describe('the options of a lease', () => {
  const table: [name: keyof LeaseOptions, good: unknown[], bad: unknown[]][] = [
    ['leaseMs', [100, 2_147_483_647], [99, 2_147_483_648, 100.5]],
    ['renew', ['auto', 'none'], ['', true]],
    ['slot', [0, 1], [-1, '1']],
    ['minHoldMs', [0, 2_147_483_647], [-1, 2_147_483_648]],
    ['onPassed', ['skip', 'run'], ['', 'refuse']],
    ['waitMs', [0, 2_147_483_647], [-1, 2_147_483_648]],
    ['label', ['a', 'a'.repeat(200)], ['', 'a'.repeat(201)]],
    ['signal', [AbortSignal.abort()], [{}]],
    ['remainingMs', [method], [5]],
  ];

  it.each(table)('%s', (name, good, bad) => {
    const rule = LEASE_RULES[name] as Rule;
    for (const value of good) expect(rule(value), JSON.stringify(value)).toBeUndefined();
    for (const value of bad) expect(rule(value), JSON.stringify(value)).toMatch(/^must /);
  });

  it('all of them are known here', () => {
    expect(Object.keys(LEASE_RULES).sort()).toEqual(table.map(([name]) => name).sort());
  });

  const refusals: [what: string, call: (at: ReturnType<typeof scripted>) => Promise<unknown>, message: string][] = [
    [
      'an option',
      ({ leases }) => tryAcquire(leases, 'job', { leaseMs: 1 }),
      'tryAcquire: leaseMs must be a whole number, at least 100, at most 2147483647.',
    ],
    ['no name', ({ leases }) => tryAcquire(leases, ''), 'tryAcquire: the name must be a string of 1 to 512 characters, without control characters.'],
    [
      'a long name',
      ({ leases }) => tryAcquire(leases, 'n'.repeat(513)),
      'tryAcquire: the name must be a string of 1 to 512 characters, without control characters.',
    ],
    ['a store', () => tryAcquire(memoryStore() as never, 'job'), 'tryAcquire: the first argument must be an object with acquire, renew, release.'],
    ['both', () => tryAcquire({} as never, ''), 'tryAcquire: the first argument must be an object with acquire, renew, release.'],
    [
      'too long for the provider',
      ({ leases }) => tryAcquire(leases, 'job', { leaseMs: 100_001 }),
      'tryAcquire: leaseMs must be from 100 to 100000 for scripted.',
    ],
    [
      'too short for the provider',
      ({ leases }) => tryAcquire({ ...leases, limits: { minLeaseMs: 15_000, maxLeaseMs: 60_000 } }, 'job', { leaseMs: 14_999 }),
      'tryAcquire: leaseMs must be from 15000 to 60000 for scripted.',
    ],
    ['no work', ({ leases }) => withLease(leases, 'job', {}, 'work' as never), 'withLease: the work must be a function.'],
    [
      'with work',
      ({ leases }) => withLease(leases, '', {}, method),
      'withLease: the name must be a string of 1 to 512 characters, without control characters.',
    ],
  ];

  it.each(refusals)('%s: refused in words, and nobody is asked', async (_, call, message) => {
    const at = scripted();
    await expect(call(at)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message });
    expect(at.asked.acquire).toEqual([]);
  });

  it.each([
    ['each provider', 15_000, 60_000, [15_000, 60_000]],
    ['one that allows less than a minute', 100, 20_000, [100, 20_000]],
  ])('at the limits of %s, and by default a minute or the most there is', async (_, minLeaseMs, maxLeaseMs, lengths) => {
    const at = scripted();
    const leases = { ...at.leases, limits: { minLeaseMs, maxLeaseMs } };
    for (const leaseMs of [...lengths, undefined]) {
      const got = await tryAcquire(leases, 'job', { renew: 'none', ...(leaseMs === undefined ? {} : { leaseMs }) }, at.clock);
      if (got.kind === 'acquired') await got.lease.release();
    }
    expect(at.asked.acquire.map(({ leaseMs }) => leaseMs)).toEqual([...lengths, maxLeaseMs]);
    const wide = scripted();
    const got = await tryAcquire(wide.leases, 'n'.repeat(512), { renew: 'none' }, wide.clock);
    expect([got.kind, wide.asked.acquire[0]?.leaseMs]).toEqual(['acquired', 60_000]);
  });
});

describe('what is told of asking for a lease', () => {
  const NAME = { name: 'job', provider: 'scripted' };
  const table: [what: string, answer: (slot: number) => Acquired, withSlot: boolean, told: (slot: number) => object][] = [
    ['acquired', () => ({ kind: 'acquired', token: 7 }), false, () => ({ event: 'acquired', token: 7, ...NAME })],
    [
      'acquired, after a slot that is done',
      (slot) => ({ kind: 'acquired', token: 7, lastSlot: slot - 1_000 }),
      true,
      (slot) => ({ event: 'acquired', token: 7, ...NAME, slot, lastSuccessAgeMs: 1_000 }),
    ],
    ['held', () => ({ kind: 'held' }), false, () => ({ event: 'skipped', reason: 'held', ...NAME })],
    [
      'held, and how it stands',
      (slot) => ({ kind: 'held', retryAfterMs: 5, label: 'host', lastSlot: slot - 500 }),
      true,
      (slot) => ({ event: 'skipped', reason: 'held', ...NAME, slot, lastSuccessAgeMs: 500 }),
    ],
    ['done', () => ({ kind: 'slot-done' }), true, (slot) => ({ event: 'skipped', reason: 'slot-done', ...NAME, slot, lastSuccessAgeMs: 0 })],
    [
      'passed',
      (slot) => ({ kind: 'slot-passed', lastSlot: slot + 9 }),
      true,
      (slot) => ({ event: 'skipped', reason: 'slot-passed', ...NAME, slot, lastSuccessAgeMs: 0 }),
    ],
  ];

  it.each(table)('%s: once, with what there is to say and no more; and the answer as it was', async (_, answer, withSlot, told) => {
    const at = scripted();
    const slot = at.clock.nowMs();
    at.script.acquire = () => answer(slot);
    const { events, stop } = leaseEvents();
    const got = await tryAcquire(at.leases, 'job', { renew: 'none', ...(withSlot ? { slot } : {}) }, at.clock);
    stop();
    expect(events).toStrictEqual([told(slot)]);
    if (got.kind !== 'acquired') expect(got).toStrictEqual(answer(slot));
  });
});

describe('work under a lease', () => {
  it('is not begun where nobody gave one, and the answer says why', async () => {
    const at = scripted({ acquire: () => ({ kind: 'held', label: 'host' }) });
    let runs = 0;
    expect(await withLease(at.leases, 'job', {}, () => ++runs, at.clock)).toStrictEqual({ kind: 'held', label: 'host' });
    expect([runs, at.asked.release.length]).toEqual([0, 0]);
  });

  it('I1 its slot is marked when it succeeded, and when it failed it is given back unmarked', async () => {
    const done = scripted();
    expect(await withLease(done.leases, 'job', { slot: 5, renew: 'none' }, (lease) => lease.token, done.clock)).toStrictEqual({
      kind: 'done',
      value: 7,
      released: 'released',
    });
    expect(done.asked.release).toMatchObject([{ slotDone: 5 }]);
    const failed = scripted();
    const error = new Error('failed');
    await expect(withLease(failed.leases, 'job', { slot: 5, renew: 'none' }, () => Promise.reject(error), failed.clock)).rejects.toBe(error);
    expect(failed.asked.release).toStrictEqual([{ owner: failed.asked.acquire[0]?.owner, token: 7 }]);
  });

  it('I6 is not begun on a lease that ran out while others were told of it', async () => {
    const at = scripted();
    const { subscribe, unsubscribe } = await import('node:diagnostics_channel');
    const slow = (): void => at.clock.freezeMonotonic(5_000);
    subscribe('rerunsafe:lease', slow);
    let runs = 0;
    try {
      const late = withLease(at.leases, 'job', { leaseMs: 1_000, renew: 'none' }, () => ++runs, at.clock);
      await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' });
    } finally {
      unsubscribe('rerunsafe:lease', slow);
    }
    expect([runs, at.asked.release.length]).toEqual([0, 1]);
  });
});
