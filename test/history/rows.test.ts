import { describe, expect, it } from 'vitest';
import type { Kept } from './format.ts';
import { judgeRow } from './rows.ts';
import { acceptedOf, type Simulated } from './simulated.ts';

const KEPT: Kept = { state: 'running', owner: 'a', revision: 'r', token: 10, attempt: 1, leaseMs: 100, retentionMs: 1_000, holder: 'p' };
const recordOf = (kept: Partial<Kept>): NonNullable<Simulated['record']> => ({
  ...{ schema: 1, operation: 'o', scope: '', createdAtMs: 0 },
  ...KEPT,
  ...kept,
});
const at = (atMs: number, kept: Partial<Kept>): Simulated => ({ atMs, fromMs: atMs, record: recordOf(kept) });
const found = (history: readonly Simulated[], lease = false): string[] =>
  judgeRow('k', acceptedOf('k', history), { lease }).map(({ promise }) => promise);

const CLAIM = at(0, {});
const TAKEOVER = at(200, { owner: 'b', token: 11, attempt: 2 });
const DONE = at(210, { owner: 'b', token: 11, attempt: 2, state: 'completed' });
const then = (kept: Partial<Kept>, atMs = 220): Simulated => at(atMs, { owner: 'c', token: 12, attempt: 3, ...kept });

describe('the judge of what a store accepted', () => {
  it('finds nothing in a life that is right', () => {
    expect(found([CLAIM, at(50, {}), TAKEOVER, DONE])).toEqual([]);
    expect(found([CLAIM, at(50, { state: 'released' }), at(60, { owner: 'b', token: 11, attempt: 2 })])).toEqual([]);
    expect(found([CLAIM, TAKEOVER, DONE, then({ attempt: 1 }, 1_300)])).toEqual([]);
    expect(found([CLAIM, TAKEOVER, DONE, { atMs: 220, fromMs: 220, record: undefined }, CLAIM])).toEqual([]);
  });

  it.each<[string, string, Simulated[], lease?: true]>([
    ['I1 a second outcome', 'I1', [CLAIM, TAKEOVER, DONE, then({ state: 'completed' })]],
    ['I3 an outcome that was written over', 'I3', [CLAIM, TAKEOVER, DONE, then({})]],
    ['I4 an owner that comes back', 'I4', [CLAIM, TAKEOVER, at(400, { token: 12, attempt: 3 })]],
    ['I4 an owner that writes after its end', 'I4', [CLAIM, at(5, { state: 'released' }), at(6, {})]],
    ['I5 a token that falls', 'I5', [CLAIM, at(5, { token: 9 })]],
    ['I5 a token that does not grow with its owner', 'I5', [CLAIM, at(200, { owner: 'b', attempt: 2 })]],
    ['I6 a takeover before the lease is over', 'I6', [CLAIM, { ...TAKEOVER, atMs: 99 }]],
    ['I6 attempts that do not count up', 'I6', [CLAIM, at(200, { owner: 'b', token: 11, attempt: 3 })]],
    ['I6 a lease taken within its minimum hold', 'I6', [CLAIM, at(5, { state: 'released' }), at(50, { owner: 'b', token: 11 })], true],
    [
      'I8 a blocked record that is written over',
      'I8',
      [CLAIM, at(200, { owner: 'b', token: 11, state: 'blocked', attempt: 1 }), then({ attempt: 2 }, 400)],
    ],
  ])('finds %s', (_, promise, history, lease) => {
    expect(found(history, lease)).toContain(promise);
  });

  it('knows what a person may do, and what a take-over between servers may take away', () => {
    const word = { did: 'forget', by: 'ann', atMs: 0 } as const;
    const blocked = at(200, { owner: 'b', token: 11, state: 'blocked' });
    const said = (record: object): Simulated => ({
      atMs: 220,
      fromMs: 220,
      record: { ...recordOf({ owner: 'c', token: 12, state: 'released' }), ...record },
    });
    expect(found([CLAIM, TAKEOVER, DONE, said({ word })])).toEqual([]);
    expect(found([CLAIM, blocked, said({ word: { ...word, did: 'resolve' } })])).toEqual([]);
    expect(found([CLAIM, TAKEOVER, DONE, said({ word: { ...word, did: 'resolve' } })])).toEqual(['I3']);
    const forced = [CLAIM, { ...said({ word }), atMs: 50 }];
    expect(found(forced)).toEqual(['I6']);
    expect(judgeRow('k', acceptedOf('k', forced, 'ann'))).toEqual([]);
    expect(judgeRow('k', acceptedOf('k', forced), { timeless: true })).toEqual([]);
    expect(found([CLAIM, TAKEOVER, { ...CLAIM, atMs: 210, how: 'set-back' }, at(400, { owner: 'c', token: 11, attempt: 2 })])).toEqual([]);
  });
});
