import { describe, expect, it } from 'vitest';
import type { Event } from '../history/format.ts';
import type { HolderRules } from '../history/holders.ts';
import { judge } from './judge.ts';

const RULES: HolderRules = { adds: true, freeWithinMs: 1_000 };

/** As these tests write it: `told` is what became of `what`, `sentMs` when it was asked. */
type Noted = { readonly pid: number; readonly token: number; readonly atMs: number } & (
  | { readonly what: 'in' | 'held on'; readonly untilMs: number }
  | { readonly what: 'claimed'; readonly sentMs: number }
  | { readonly what: 'wrote'; readonly sentMs: number; readonly n: number }
  | { readonly what: 'refused'; readonly sentMs: number; readonly storedToken: number }
  | { readonly what: 'told'; readonly held: string; readonly aborted: boolean }
  | { readonly what: 'doomed'; readonly point: string; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  | { readonly what: 'out' }
);

const ENDS = { in: 'acquire', 'held on': 'renew', claimed: 'fenced-read', wrote: 'fenced-write', refused: 'fenced-write', out: 'release' } as const;

/** Asked and answered, or one event. */
function eventsOf(line: Noted, at: number): Event[] {
  const { pid, token, atMs } = line;
  const seen = { atMs, caller: String(pid), key: 'turns' };
  if (line.what === 'doomed') return [{ ...seen, what: 'struck', point: line.point, signal: line.signal }];
  if (line.what === 'told') return [{ ...seen, what: 'woke', token, held: line.held, aborted: line.aborted }];
  const n = String(at);
  const number = 'n' in line ? line.n : 0;
  const invoke = { ...seen, atMs: 'sentMs' in line ? line.sentMs : atMs, what: 'invoke', n, op: ENDS[line.what], token, number } as Event;
  if (line.what === 'refused') return [invoke, { ...seen, what: 'fail', n, code: 'STALE_TOKEN', storedToken: line.storedToken }];
  return [invoke, { ...seen, what: 'ok', n, answer: 'untilMs' in line ? { token, untilMs: line.untilMs } : {} }];
}

/** Two holders, one after the other; the first is stopped past its lease, told so, and refused. */
const GOOD: readonly Noted[] = [
  { pid: 1, token: 10, atMs: 0, what: 'in', untilMs: 100 },
  { pid: 1, token: 10, atMs: 3, what: 'claimed', sentMs: 1 },
  { pid: 1, token: 10, atMs: 9, what: 'wrote', sentMs: 5, n: 1 },
  { pid: 1, token: 10, atMs: 10, what: 'doomed', point: 'release', signal: 'SIGSTOP' },
  { pid: 2, token: 11, atMs: 120, what: 'in', untilMs: 220 },
  { pid: 2, token: 11, atMs: 125, what: 'claimed', sentMs: 121 },
  { pid: 1, token: 10, atMs: 126, what: 'told', held: 'LEASE_LOST', aborted: true },
  { pid: 1, token: 10, atMs: 131, what: 'refused', sentMs: 127, storedToken: 11 },
  { pid: 1, token: 10, atMs: 132, what: 'out' },
  { pid: 2, token: 11, atMs: 140, what: 'wrote', sentMs: 130, n: 2 },
  { pid: 2, token: 11, atMs: 141, what: 'out' },
  { pid: 3, token: 12, atMs: 150, what: 'in', untilMs: 250 },
  { pid: 3, token: 12, atMs: 151, what: 'doomed', point: 'acquired', signal: 'SIGKILL' },
  { pid: 4, token: 13, atMs: 260, what: 'in', untilMs: 360 },
];

const change = (find: (line: Noted) => boolean, into: (line: Noted) => object): Noted[] =>
  GOOD.map((line) => (find(line) ? ({ ...line, ...into(line) } as Noted) : line));
const judged = (history: readonly Noted[], rules: HolderRules = {}) => judge(history.flatMap(eventsOf), { ...RULES, ...rules });
const wrong = (history: readonly Noted[], rules: HolderRules = {}): readonly string[] => judged(history, rules).wrong;

describe('the judge of turns', () => {
  it('finds nothing in a history that is right, and counts it', () => {
    expect(judged(GOOD)).toEqual({ acquisitions: 4, killsOfHolders: 1, stops: 1, staleTried: 1, staleLanded: 0, wrong: [] });
  });

  it.each<[string, string, readonly Noted[], HolderRules?]>([
    [
      'two that hold at once',
      'I6 two hold',
      change(
        ({ token, what }) => token === 11 && what === 'in',
        () => ({ atMs: 99 }),
      ),
    ],
    ['a holder that was renewed and overtaken', 'I6 two hold', [...GOOD, { pid: 1, token: 10, atMs: 9, what: 'held on', untilMs: 125 }]],
    [
      'a holder whose release was never noted',
      'I6 two hold',
      change(
        ({ token, what }) => token === 11 && what === 'in',
        () => ({ untilMs: 155 }),
      ).filter(({ token, what }) => token !== 11 || what !== 'out'),
    ],
    [
      'tokens out of order',
      'I5 token 12 was acquired before',
      change(
        ({ token, what }) => token === 12 && what === 'in',
        () => ({ atMs: 50, untilMs: 60 }),
      ),
    ],
    [
      'a token that comes twice',
      'I5 token 11 was given out twice',
      change(
        ({ token, what }) => token === 12 && what === 'in',
        () => ({ token: 11 }),
      ),
    ],
    [
      'a stale write that lands',
      'I4 a write of 10 landed',
      change(
        ({ what }) => what === 'refused',
        () => ({ what: 'wrote', n: 3 }),
      ),
    ],
    [
      'a refusal without a reason',
      'I4 refused, but not',
      change(
        ({ what }) => what === 'refused',
        () => ({ storedToken: 10 }),
      ),
    ],
    [
      'a holder that was not told',
      'I4 stopped past its lease',
      change(
        ({ what }) => what === 'told',
        () => ({ held: 'held' }),
      ),
    ],
    [
      'a signal that did not come',
      'I4 stopped past its lease',
      change(
        ({ what }) => what === 'told',
        () => ({ aborted: false }),
      ),
    ],
    [
      'an addition that is lost',
      'I4 two wrote 1',
      change(
        ({ token, what }) => token === 11 && what === 'wrote',
        () => ({ n: 1 }),
      ),
    ],
    [
      'an older holder that wrote last',
      'I4 10 wrote 3 after 11',
      change(
        ({ token, what }) => token === 10 && what === 'wrote',
        () => ({ n: 3 }),
      ),
    ],
    ['a dead holder that blocks the next', 'I10', GOOD, { freeWithinMs: 100 }],
    [
      'somebody who goes on before a dead lease is over',
      'I6 two hold',
      change(
        ({ token, what }) => token === 13 && what === 'in',
        () => ({ atMs: 150.5 }),
      ),
    ],
  ])('finds %s', (_, found, history, facts) => {
    expect(wrong(history, facts).filter((line) => line.replace('turns: ', '').startsWith(found))).not.toEqual([]);
  });

  it('a kill from outside ends a hold, too', () => {
    const killed = GOOD.filter(({ pid, what }) => !(pid === 2 && what === 'out')).map((line) =>
      line.pid === 2 && line.what === 'in' ? { ...line, untilMs: 155 } : line,
    );
    expect(wrong(killed)).not.toEqual([]);
    const struck: Noted = { pid: 2, token: 0, atMs: 142, what: 'doomed', point: 'outside', signal: 'SIGKILL' };
    expect(judged([...killed, struck])).toMatchObject({ killsOfHolders: 2, wrong: [] });
  });
});
