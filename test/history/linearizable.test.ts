import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byLength } from '../support/long.ts';
import { linearize, type Operation } from './linearizable.ts';
import { type Asked, bruteForce, type Choice, choices, oneRegister, played, type Took } from './register-histories.ts';

const NEVER = Number.POSITIVE_INFINITY;
const RUNS = byLength(300, 1_000, 100_000);

const write = (over: string, to: string, startMs: number, endMs: number): Operation<Asked> => ({ input: { op: 'write', over, to }, startMs, endMs });
const refused = (over: string, shows: string, startMs: number, endMs: number): Operation<Asked> => ({
  input: { op: 'write', over, to: 'x', shows },
  startMs,
  endMs,
});
const read = (shows: string, startMs: number, endMs: number): Operation<Asked> => ({ input: { op: 'read', shows }, startMs, endMs });
const isRight = (operations: readonly Operation<Asked>[]): boolean => linearize(operations, oneRegister).linearizable;

const GOOD: readonly [string, ...Operation<Asked>[]][] = [
  ['a read beside a write shows what is before it', write('', 'a', 0, 10), read('', 5, 6)],
  ['or what is after it', write('', 'a', 0, 10), read('a', 5, 6)],
  ['an unknown write takes effect long after', write('', 'a', 0, 1), write('a', 'b', 2, NEVER), read('a', 3, 4), read('a', 5, 6), read('b', 7, 8)],
  ['or never', write('', 'a', 0, 1), write('a', 'b', 2, NEVER), read('a', 3, 4), write('a', 'c', 5, 6), read('c', 7, 8)],
  ['a chain of unknown writes', write('', 'a', 0, NEVER), write('a', 'b', 1, NEVER), write('b', 'c', 2, NEVER), read('c', 3, 4)],
  ['one of two creations is refused', write('', 'a', 0, 9), refused('', 'a', 0, 9), read('a', 10, 11)],
  ['created again after it was deleted', write('', 'a', 0, 1), write('a', '', 2, 3), write('', 'b', 4, 5), read('b', 6, 7)],
  [
    'sent twice: taken, replaced by somebody else, then refused',
    write('', 'a', 0, 1),
    { ...write('a', 'b', 2, 9), optional: true },
    { ...refused('a', 'c', 2, 9), after: 1 },
    write('b', 'c', 3, 8),
  ],
  [
    'what may have happened in its time did, before a read that could as well have come first',
    { ...write('', 'b', 0, 0), optional: true },
    write('b', '', 0, 4),
    read('', 1, 1),
  ],
];
const BAD: readonly [string, ...Operation<Asked>[]][] = [
  ['a stale read', write('', 'a', 0, 1), write('a', 'b', 2, 3), read('a', 4, 5)],
  ['a lost update', write('', 'a', 0, 1), write('a', 'b', 2, 9), write('a', 'c', 2, 9)],
  ['two creations', write('', 'a', 0, 9), write('', 'b', 0, 9)],
  ['an unknown write that takes effect twice', write('', 'a', 0, NEVER), read('a', 1, 2), write('a', '', 3, 4), read('a', 5, 6)],
  ['an unknown write that happened before it was asked for', write('', 'a', 0, 1), read('b', 2, 3), write('a', 'b', 4, NEVER)],
  ['reads that go back', write('', 'a', 0, 99), read('a', 1, 2), read('', 3, 4)],
  ['a refusal without a reason', write('', 'a', 0, 1), refused('a', 'a', 2, 3)],
  ['a refusal that shows what nobody wrote', refused('', 'b', 0, 1)],
  [
    'something that may have happened in its time, and happens after',
    write('', 'a', 0, 1),
    { ...write('a', 'b', 2, 3), optional: true },
    read('a', 4, 5),
    read('b', 6, 7),
  ],
  [
    'something that comes before what it comes after',
    write('', 'a', 0, 1),
    { ...write('a', 'b', 2, 9), optional: true },
    { ...refused('a', '', 2, 9), after: 1 },
  ],
];

/** `at` picks one of the changes; what it replaced cannot stand there once it was answered. */
const MUTATIONS: Readonly<Record<string, (took: Took, at: number) => Operation<Asked>[] | undefined>> = {
  'a lost update': ({ changes, endMs }, at) => {
    const change = changes[at % changes.length];
    return change === undefined || change.from === '' ? undefined : [write(change.from, 'lost', endMs, endMs + 1)];
  },
  'a stale read': ({ changes }, at) => {
    const change = changes[at % changes.length];
    return change === undefined || change.from === '' ? undefined : [read(change.from, change.endMs + 0.5, change.endMs + 0.6)];
  },
  'a write that is applied twice': ({ changes, last, endMs }, at) => {
    const change = changes[at % changes.length];
    if (change === undefined || change.to === '' || last === '') return undefined;
    return [write(last, '', endMs, endMs + 1), read(change.to, endMs + 2, endMs + 3)];
  },
};

describe('the search for an order', () => {
  it.each(GOOD)('finds one: %s', (_, ...operations) => {
    expect(linearize(operations, oneRegister)).toMatchObject({ linearizable: true });
    expect(bruteForce(operations)).toBe(true);
  });

  it.each(BAD)('finds none: %s', (_, ...operations) => {
    const found = linearize(operations, oneRegister);
    expect(found).toMatchObject({ linearizable: false });
    expect(found.linearizable || found.stuck.length).toBeGreaterThan(0);
    expect(bruteForce(operations)).toBe(false);
  });

  it(`finds one for each of ${RUNS} histories of a register that was there, with unknown outcomes`, () => {
    fc.assert(
      fc.property(choices(40, true), (chosen: Choice[]) => isRight(played(chosen).operations)),
      { numRuns: RUNS },
    );
  });

  it.each(Object.entries(MUTATIONS))('finds none where there is %s', (_, mutation) => {
    let spoiled = 0;
    fc.assert(
      fc.property(choices(30, false), fc.nat(), (chosen: Choice[], at) => {
        const took = played(chosen);
        const more = mutation(took, at);
        if (more === undefined) return true;
        spoiled += 1;
        return isRight(took.operations) && !isRight([...took.operations, ...more]);
      }),
      { numRuns: RUNS },
    );
    // Otherwise it would have shown nothing.
    expect(spoiled).toBeGreaterThan(RUNS / 4);
  });

  it(`says the same as a trial of all orders, for ${RUNS} small histories of any kind`, () => {
    const states = fc.constantFrom('', 'a', 'b');
    const operation = fc
      .record({
        input: fc.oneof(
          fc.record({ op: fc.constant('read' as const), shows: states }),
          fc.record({ op: fc.constant('write' as const), over: states, to: states }),
          fc.record({ op: fc.constant('write' as const), over: states, to: states, shows: states }),
        ),
        startMs: fc.nat({ max: 6 }),
        lasts: fc.constantFrom(0, 1, 2, 4, NEVER),
        optional: fc.constantFrom(false, false, false, true),
        follows: fc.constantFrom(false, false, true),
      })
      .map(({ lasts, ...one }) => ({ ...one, endMs: one.startMs + lasts }));
    const seen = { right: 0, wrong: 0 };
    fc.assert(
      fc.property(fc.array(operation, { minLength: 2, maxLength: 6, size: 'max' }), (drawn) => {
        const operations = drawn.map(({ follows, ...one }, n): Operation<Asked> => (follows && n > 0 ? { ...one, after: n - 1 } : one));
        const expected = bruteForce(operations);
        seen[expected ? 'right' : 'wrong'] += 1;
        return isRight(operations) === expected;
      }),
      { numRuns: RUNS * 5 },
    );
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(RUNS / 4);
  });

  it('ends in time for 200 operations of about eight callers, a third of whose writes have no known outcome', () => {
    const all = (fc.sample(choices(320, true, 320), { numRuns: 20, seed: 9 }) as Choice[][]).map((chosen) => played(chosen).operations.slice(0, 200));
    const unknown = all.flat().filter(({ endMs }) => endMs === NEVER).length;
    const startedAt = performance.now();
    for (const operations of all) expect(isRight(operations)).toBe(true);
    const tookMs = Math.round((performance.now() - startedAt) / all.length);
    const stale = all.map((operations): Operation<Asked>[] => [...operations, read('never written', 1_000, 1_001)]);
    const againAt = performance.now();
    for (const operations of stale) expect(isRight(operations)).toBe(false);
    const refutedMs = Math.round((performance.now() - againAt) / all.length);
    console.log(
      `${all.flat().length / all.length} operations, ${Math.round(unknown / all.length)} of them unknown: an order found in ${tookMs} ms, refuted in ${refutedMs} ms`,
    );
    expect(unknown).toBeGreaterThan(all.length * 20);
  });
});
