import { describe, expect, it } from 'vitest';
import type { AcquireRequest, Stored } from '../../../src/core/ports.ts';
import { FOREVER_MS, type StoredRecord } from '../../../src/core/record.ts';
import { decideAcquire } from '../../../src/core/store-leases.ts';

const LEASE = 1_000;
const UNCERTAIN = 100;
const NOW = 5_000_000;

function row(over: Partial<StoredRecord>, ageMs = 0): Stored {
  const record: StoredRecord = {
    schema: 1,
    operation: 'rerunsafe/lease',
    scope: '',
    state: 'running',
    owner: 'other',
    revision: 'r',
    token: 7,
    attempt: 1,
    leaseMs: LEASE,
    retentionMs: FOREVER_MS,
    createdAtMs: 1,
    writtenAtMs: 1,
    ...over,
  };
  return { record, version: 'v', ageMs };
}

const says = (standing: Stored | undefined, request: Partial<AcquireRequest> = {}, nowMs = NOW) =>
  decideAcquire(standing, { owner: 'me', leaseMs: LEASE, ...request }, nowMs, UNCERTAIN);

describe('who gets a lease that is kept as a row', () => {
  it('I5 a name that nobody has had: free, and the token is the time', () => {
    expect(says(undefined, { slot: 5 })).toStrictEqual({ kind: 'claim', over: undefined, token: NOW });
  });

  it('I6 somebody else holds it: held, for what is left of the lease and for as long as clocks may be apart', () => {
    expect(says(row({}, 400))).toStrictEqual({ kind: 'held', retryAfterMs: LEASE + UNCERTAIN - 400 });
    expect(says(row({}, LEASE + UNCERTAIN))).toStrictEqual({ kind: 'held', retryAfterMs: 1 });
    expect(says(row({}, LEASE + UNCERTAIN - 0.5))).toStrictEqual({ kind: 'held', retryAfterMs: 1 });
    expect(says(row({}, LEASE + UNCERTAIN - 1.5))).toStrictEqual({ kind: 'held', retryAfterMs: 2 });
    expect(says(row({}, LEASE + UNCERTAIN + 1))).toMatchObject({ kind: 'claim' });
  });

  it('I6 who holds it, and the last slot, are said to those who come too late', () => {
    expect(says(row({ holder: 'host 1', slot: 3 }))).toStrictEqual({ kind: 'held', retryAfterMs: LEASE + UNCERTAIN, label: 'host 1', lastSlot: 3 });
    expect(says(row({ slot: 3 }), { slot: 3 }), 'while it is held, the slot may be getting done').toMatchObject({ kind: 'held', lastSlot: 3 });
  });

  it('I7 the own request that had landed is found again, with its token; not once it has run out, nor when it was released', () => {
    expect(says(row({ owner: 'me', slot: 3 }, LEASE))).toStrictEqual({ kind: 'acquired', token: 7, lastSlot: 3 });
    expect(says(row({ owner: 'me' }))).toStrictEqual({ kind: 'acquired', token: 7 });
    expect(says(row({ owner: 'me' }, LEASE + UNCERTAIN + 1))).toMatchObject({ kind: 'claim' });
    expect(says(row({ owner: 'me', state: 'released' }, LEASE))).toMatchObject({ kind: 'held' });
  });

  it('I6 released with a minimum hold: held until that is over', () => {
    expect(says(row({ state: 'released', leaseMs: 500 }, 100))).toStrictEqual({ kind: 'held', retryAfterMs: 500 + UNCERTAIN - 100 });
    expect(says(row({ state: 'released', leaseMs: 500 }, 500 + UNCERTAIN))).toMatchObject({ kind: 'claim' });
    expect(says(row({ state: 'released', leaseMs: 500 }, 500 + UNCERTAIN - 1))).toMatchObject({ kind: 'held' });
    expect(says(row({ state: 'released', leaseMs: 0 }, 0)), 'no minimum hold: free at once').toMatchObject({ kind: 'claim' });
  });

  it('I6 a lease of 0 ms that says running is over at once', () => {
    expect(says(row({ leaseMs: 0 }))).toMatchObject({ kind: 'claim' });
  });

  it.each([
    ['the same', 5, 5, { kind: 'slot-done' }],
    ['an earlier one', 4, 5, { kind: 'slot-passed', lastSlot: 5 }],
    ['a later one', 6, 5, { kind: 'claim' }],
    ['none asked for', undefined, 5, { kind: 'claim' }],
    ['none done yet', 5, undefined, { kind: 'claim' }],
  ])('I1 a slot is handed out once: %s', (_, asked, done, expected) => {
    const standing = row({ state: 'released', leaseMs: 0, ...(done === undefined ? {} : { slot: done }) });
    expect(says(standing, asked === undefined ? {} : { slot: asked })).toMatchObject(expected);
    const lapsed = row({ ...(done === undefined ? {} : { slot: done }) }, LEASE * 2);
    expect(says(lapsed, asked === undefined ? {} : { slot: asked })).toMatchObject(expected);
  });

  it('I5 the token is one more, or the time where that is later', () => {
    const standing = row({ state: 'released', leaseMs: 0, token: 7 });
    expect(says(standing)).toStrictEqual({ kind: 'claim', over: standing, token: NOW });
    expect(says(standing, {}, 8)).toMatchObject({ token: 8 });
    expect(says(standing, {}, 7)).toMatchObject({ token: 8 });
    expect(says(standing, {}, 3)).toMatchObject({ token: 8 });
  });
});
