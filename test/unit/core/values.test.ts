import { describe, expect, it } from 'vitest';
import { isRerunSafeError, RerunSafeError } from '../../../src/core/errors.ts';
import { fingerprintOf, fingerprintsDiffer, ownFingerprint } from '../../../src/core/fingerprint.ts';
import { keyParts, labelOf, recordId, scopeHash } from '../../../src/core/key.ts';

describe('keys', () => {
  it('no separator can be forged: every grouping of the same characters is a key of its own', () => {
    const keys: string[][] = [
      ['a', 'b'],
      ['a:b'],
      ['ab'],
      ['a', '', 'b'].filter(Boolean).concat('x'),
      ['1:a'],
      ['a', 'b', 'x'],
      ['ab', 'x'],
      ['a', 'bx'],
    ];
    const ids = keys.map((key) => recordId('o', [], key));
    expect(new Set(ids).size).toBe(new Set(keys.map((key) => JSON.stringify(key))).size);
    expect(recordId('o', ['a'], ['b'])).not.toBe(recordId('o', [], ['a', 'b']));
    expect(recordId('o', ['a', 'b'], ['c'])).not.toBe(recordId('o', ['a'], ['b', 'c']));
    expect(recordId('oa', [], ['b'])).not.toBe(recordId('o', [], ['ab']));
  });

  it('the id is short, safe in every store, and never changes (golden)', () => {
    const id = recordId('payments/charge', ['tenant'], ['order', '42']);
    expect(id).toMatch(/^r1_[A-Za-z0-9_-]{43}$/);
    expect(id).toBe('r1_3ui0yanl786QLijIMsGZ35_iXpY3-UCXdYWkN0JfyoQ');
    expect(scopeHash([])).toBe('');
    expect(scopeHash(['tenant'])).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it('labels are bounded, without control characters, and never cut a character in two', () => {
    expect(labelOf(keyParts(['a', 1, 2n]))).toBe('a/1/2');
    expect(labelOf(['a\u0000b\n'])).toBe('a b ');
    const long = labelOf(['😀'.repeat(300)]);
    expect(long.length).toBeLessThanOrEqual(200);
    expect(long).not.toMatch(/\p{Surrogate}/u);
  });
});

describe('fingerprints', () => {
  const equal: [unknown, unknown][] = [
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [{ a: undefined }, {}],
    [new Date(5), new Date(5)],
    [new Map([['a', 1]]), new Map([['a', 1]])],
    [Buffer.from('x'), new Uint8Array([120])],
    [{ toJSON: () => ({ a: 1 }) }, { a: 1 }],
  ];
  it.each(equal)('%j and %j are the same input', (a, b) => {
    expect(fingerprintOf(a)).toBe(fingerprintOf(b));
  });

  it('different inputs differ, also where JSON cannot tell them apart', () => {
    const shared = { y: 1 };
    const inputs: unknown[] = [
      null,
      undefined,
      0,
      '',
      false,
      'null',
      '0',
      [],
      {},
      [null],
      [undefined],
      [[]],
      Number.NaN,
      'NaN',
      Infinity,
      1n,
      1,
      '1',
      new Date(1),
      new Date(1).toISOString(),
      new Map(),
      new Set(),
      new Map([['a', 1]]),
      new Set(['a']),
      Buffer.from('a'),
      { $bigint: '1' },
      { $$bigint: '1' },
      { $date: '1' },
      'a',
      { a: 1 },
      { a: '1' },
      { a: [1] },
      ['a', 1],
      '\uD800',
      '\uD801',
      '\uFFFD',
      { one: shared, two: shared, three: 0 },
    ];
    expect(new Set(inputs.map(fingerprintOf)).size).toBe(inputs.length);
    expect(fingerprintOf({ one: shared, two: shared })).toBe(fingerprintOf({ one: { y: 1 }, two: { y: 1 } }));
  });

  it('cycles, functions and symbols are refused', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const input of [cycle, () => 1, Symbol('s'), { f() {} }])
      expect(() => fingerprintOf(input)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  it('only fingerprints of one version are compared, and both have to be there', () => {
    expect(fingerprintsDiffer('v1:a', 'v1:b')).toBe(true);
    expect(fingerprintsDiffer('v1:a', 'v2:b')).toBe(false);
    expect(fingerprintsDiffer('v1:a', ownFingerprint('a'))).toBe(false);
    expect(fingerprintsDiffer(undefined, 'v1:b')).toBe(false);
    expect(fingerprintsDiffer(ownFingerprint('a'), ownFingerprint('b'))).toBe(true);
  });
});

describe('errors', () => {
  it('carry their code in their name: all that some hosts tell of an error', () => {
    expect(String(new RerunSafeError('KEY_REUSED', 'another input'))).toBe('RerunSafe.KEY_REUSED: another input');
  });

  it('isRerunSafeError knows errors of another copy of the package, and nobody else’s', () => {
    const foreign = Object.assign(new Error('x'), { code: 'LEASE_LOST', [Symbol.for('rerunsafe.error')]: true });
    expect(isRerunSafeError(foreign)).toBe(true);
    expect(isRerunSafeError(foreign, 'LEASE_LOST')).toBe(true);
    expect(isRerunSafeError(new RerunSafeError('BLOCKED', 'b'), 'LEASE_LOST')).toBe(false);
    for (const other of [null, undefined, 'LEASE_LOST', Object.assign(new Error('x'), { name: 'RerunSafe.LEASE_LOST', code: 'LEASE_LOST' })]) {
      expect(isRerunSafeError(other)).toBe(false);
    }
  });
});
