import { describe, expect, it } from 'vitest';
import type { RerunSafeError } from '../../../src/core/errors.ts';
import { GUARD_RULES, verdictOf } from '../../../src/core/guard.ts';
import {
  anything,
  checkOptions,
  either,
  has,
  invalidOptions,
  isBoolean,
  isFunction,
  isInteger,
  isName,
  isObject,
  isOneOf,
  isShape,
  isSignal,
  type Rule,
} from '../../../src/core/options.ts';
import { retentionOf } from '../../../src/core/retention.ts';

const RULES = { a: isInteger(1), b: isName(3) };

function refusal(given: unknown, required: string[] = []): RerunSafeError | undefined {
  try {
    checkOptions('what', given, RULES, required);
    return undefined;
  } catch (error) {
    return error as RerunSafeError;
  }
}

describe('options', () => {
  it('all that is wrong is said at once, and the names there are only where one is not known', () => {
    expect(refusal({ a: 1, b: 'x' }, ['a', 'b'])).toBeUndefined();
    expect(refusal({ a: undefined })).toBeUndefined();
    expect(refusal({ a: 0, c: 1 }, ['b'])).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'what: b is missing; a must be a whole number, at least 1; c is not an option. The options are a, b.',
      facts: { problems: ['b is missing', 'a must be a whole number, at least 1', 'c is not an option'] },
    });
    expect(refusal({ a: 0 })?.message).toBe('what: a must be a whole number, at least 1.');
    expect(refusal({ toString: 1 })?.message).toMatch(/^what: toString is not an option\./);
  });

  it.each([[null], [undefined], [3], ['x'], [[]]])('%j are no options', (given) => {
    expect(refusal(given)?.message).toBe('what: the options must be an object.');
  });

  it('what is wrong is said by its name', () => {
    expect(invalidOptions('x', ['y'])).toMatchObject({ code: 'INVALID_OPTIONS', message: 'x: y.', facts: { problems: ['y'] } });
  });

  const table: [string, Rule, good: unknown[], bad: unknown[], said: string][] = [
    ['a function', isFunction, [() => {}], [null, {}], 'must be a function'],
    ['a boolean', isBoolean, [true, false], [0, 'true', null], 'must be true or false'],
    ['an object', isObject, [{}, []], [null, 'x', undefined], 'must be an object'],
    [
      'a name',
      isName(3),
      ['a', 'abc', '😀'],
      ['', 'abcd', 7, null, 'a\n', '\uD800', 'a\u0000b'],
      'must be a string of 1 to 3 characters, without control characters',
    ],
    [
      'a name of the usual length',
      isName(),
      ['a'.repeat(128)],
      ['a'.repeat(129)],
      'must be a string of 1 to 128 characters, without control characters',
    ],
    ['a whole number', isInteger(1), [1, Number.MAX_SAFE_INTEGER], [0, 1.5, 2 ** 53, '1', Number.NaN], 'must be a whole number, at least 1'],
    ['one in bounds', isInteger(1, 3), [1, 3], [0, 4], 'must be a whole number, at least 1, at most 3'],
    ['one of some', isOneOf('x', 'y'), ['x', 'y'], ['z', '', undefined], "must be 'x' or 'y'"],
    ['one or the other', either(isBoolean, isInteger(1)), [true, 1], [0, 'x'], 'must be true or false, or must be a whole number, at least 1'],
    ['a shape', isShape(RULES, ['a'], 'must be so'), [{ a: 1 }, { a: 1, b: 'x' }], [{}, { b: 'x' }, { a: 0 }, { a: 1, c: 1 }, null, 3], 'must be so'],
    ['methods', has('f', 'g'), [{ f() {}, g() {} }], [{ f() {} }, { f() {}, g: 1 }, null, undefined, 'f', () => {}], 'must be an object with f, g'],
    ['a signal', isSignal, [AbortSignal.abort()], [{}, { aborted: false }, null], 'must be an AbortSignal'],
  ];

  it.each(table)('%s: taken, or refused in words', (_, rule, good, bad, said) => {
    for (const value of good) expect(rule(value), String(value)).toBeUndefined();
    for (const value of bad) expect(rule(value), JSON.stringify(value)).toBe(said);
  });

  it('anything is taken where anything will do', () => {
    for (const value of [undefined, null, 0, {}]) expect(anything(value)).toBeUndefined();
  });
});

describe('the options of an operation', () => {
  const method = (): void => {};
  const store = { read: method, create: method, replace: method, delete: method, list: method, purge: method };
  const table: [name: string, good: unknown[], bad: unknown[]][] = [
    ['store', [store], [{}, ...Object.keys(store).map((name) => ({ ...store, [name]: undefined }))]],
    ['operation', ['o'.repeat(128)], ['', 'o'.repeat(129), 7]],
    ['leaseMs', [100, 2_147_483_647], [99, 2_147_483_648, 100.5]],
    ['renew', ['auto', 'none'], ['', true]],
    [
      'retentionMs',
      [1, { completed: 1 }, { completed: 1, error: 1, released: 1 }],
      [0, {}, { completed: 0 }, { error: 1, released: 1 }, { completed: 1, error: 0 }, { completed: 1, released: 0 }, { completed: 1, failed: 1 }],
    ],
    ['onInFlight', ['refuse', { waitMs: 0 }, { waitMs: 2_147_483_647 }], ['', {}, { waitMs: -1 }, { waitMs: 2_147_483_648 }, null]],
    ['onUnknown', ['retry', 'block', method], ['', 'ask', {}]],
    ['onThrow', [method], ['release']],
    ['onSaveFailed', ['return', 'throw'], ['']],
    ['maxAttempts', [1], [0]],
    ['onStoreDown', ['refuse', 'run'], ['']],
    ['localReplay', [{ maxEntries: 1 }, { maxEntries: 1, maxAgeMs: 1 }], [{}, { maxEntries: 0 }, { maxAgeMs: 1 }, { maxEntries: 1, maxAge: 1 }]],
    ['label', [true, false, 'a', 'a'.repeat(200)], ['', 'a'.repeat(201), 0]],
    ['seal', [{ close: method, open: method }], [{ close: method }, { open: method }]],
    ['remainingMs', [method], [5]],
    ['signal', [AbortSignal.abort()], [{}]],
  ];

  it.each(table)('%s', (name, good, bad) => {
    const rule = GUARD_RULES[name] as Rule;
    for (const value of good) expect(rule(value), JSON.stringify(value)).toBeUndefined();
    for (const value of bad) expect(rule(value), JSON.stringify(value)).toMatch(/^(must|needs) /);
  });

  it('all of them are known here', () => {
    expect(Object.keys(GUARD_RULES).sort()).toEqual(table.map(([name]) => name).sort());
  });

  it.each([['release'], ['remember'], ['unknown'], ['withdraw'], ['lapse'], ['block']] as const)('I8 %s is a verdict, alone or with a note', (as) => {
    expect(verdictOf(as)).toEqual({ as });
    expect(verdictOf({ as, note: 'n' })).toEqual({ as, note: 'n' });
    expect(verdictOf({ as, note: 'n'.repeat(1_001) })).toEqual({ as, note: 'n'.repeat(1_000) });
    expect(verdictOf({ as, note: '' })).toEqual({ as });
    expect(verdictOf({ as, note: 7 })).toEqual({ as });
    expect(verdictOf({ as })).toEqual({ as });
  });

  it.each([[undefined], [null], [''], ['retry'], [{}], [{ note: 'n' }], [{ as: 'retry' }], [7], [Promise.resolve('release')]])(
    'I8 %j is none',
    (answer) => {
      expect(verdictOf(answer)).toBeUndefined();
    },
  );

  it('a retention for each way to end, or one for all', () => {
    expect(retentionOf(5)).toEqual({ completed: 5, error: 5, released: 5 });
    expect(retentionOf({ completed: 5 })).toEqual({ completed: 5, error: 5, released: 5 });
    expect(retentionOf({ completed: 5, error: 6, released: 7 })).toEqual({ completed: 5, error: 6, released: 7 });
  });
});
