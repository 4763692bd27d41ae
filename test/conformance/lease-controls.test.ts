import { describe, expect, it } from 'vitest';
import { leaseProviderConformance, virtualClock } from '../../src/testing/index.ts';
import { failures } from '../support/collect.ts';
import { type Mistake, plainLeases } from '../support/plain-leases.ts';

const failing = (mistake?: Mistake): Promise<string[]> =>
  failures((runner) =>
    leaseProviderConformance({
      ...runner,
      name: 'control',
      leaseMs: 30_000,
      concurrency: { racers: 4, rounds: 2, workers: 3, turns: 2 },
      async createLeases() {
        const clock = virtualClock();
        return { leases: plainLeases(clock.nowMs, mistake), advance: clock.advance };
      },
    }),
  );

const mistakes: Record<Mistake, string> = {
  'forgets the token on release': 'I5 tokens only grow',
  'anyone may renew': 'I4 a stale owner neither renews',
  'anyone may release': 'I4 a stale owner neither renews',
  'the same owner is told held': 'I7 the same owner asking again gets',
  'the same owner gets a new token': 'I7 the same owner asking again gets',
  'a slot is done as soon as it is taken': 'a failed slot stays open',
  'the mark of a slot goes back': 'the mark never goes back',
  'a done slot keeps the lease': 'a refused slot holds nothing',
  'slot 0 is no slot': 'slot 0 is a slot',
  'the minimum hold is ignored': 'the minimum hold outlives',
  'the minimum hold is not told': 'the minimum hold is kept after renewals',
  'breaking leaves the token': 'I4 breaking frees it',
  'a late renewal is allowed': 'I4 renewing a lease that has run out',
  'a released lease may be renewed': 'a released lease cannot be renewed',
  'leases never run out': 'I10 a lease whose holder died',
  'leases run out early': 'I10 a lease whose holder died',
  'the length of who asks counts': 'I6 how long a lease runs',
  'names are cut': 'names are independent',
  'names are folded': 'names are independent',
  'looks first and takes later': 'I6 of 4 callers at once one acquires',
  'held is thrown': 'I6 what is held is not given to another',
  'a signal is not looked at': 'I12 a signal',
};

describe('the suite for leases notices', () => {
  it('nothing in a provider that is right', async () => {
    expect(await failing()).toEqual([]);
  });

  it.each(Object.entries(mistakes) as [Mistake, string][])('%s', async (mistake, noticed) => {
    const failed = await failing(mistake);
    expect(failed.filter((title) => title.startsWith(noticed))).not.toEqual([]);
  });
});
