import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { notKeptAt, warnNotKept } from '../../../src/core/not-kept.ts';

class Money {
  readonly cents = 5;
}
const deep = (levels: number): unknown => (levels === 0 ? () => {} : { in: deep(levels - 1) });
const trapped = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('no');
    },
    getPrototypeOf: () => {
      throw new Error('no');
    },
  },
);

const accessors = {
  get now() {
    return 1;
  },
};

describe('where in a value it is that would not come back', () => {
  it.each<[string, unknown, string | undefined]>([
    ['the value itself', () => {}, 'It is a function'],
    ['an instance without anything in it', new (class Empty {})(), 'It is an instance of Empty'],
    ['a symbol', Symbol('s'), 'It is a symbol'],
    ['a property', { ok: 1, total: new Money() }, '.total is an instance of Money'],
    ['a property that holds a function', { ok: 1, total: () => {} }, '.total is a function'],
    ['an item', [1, { a: [2, Symbol('s')] }], '[1].a[1] is a symbol'],
    [
      'a value of a map',
      new Map<unknown, unknown>([
        ['a', 1],
        ['b', () => {}],
      ]),
      '.get(b) is a function',
    ],
    ['a proxy', { p: trapped }, '.p is a proxy'],
    [
      'an object with accessors only',
      {
        a: {
          get now() {
            return 1;
          },
        },
      },
      '.a is an object that has more than plain data',
    ],
    [
      'an object of a nameless class',
      { a: Object.assign(Object.create({ constructor: { name: '' } }), {}) },
      '.a is an object that has more than plain data',
    ],
    ['an object without a constructor', { a: Object.create(Object.create(null)) }, '.a is an object that has more than plain data'],
    ['an object without a prototype', { a: Object.assign(Object.create(null), { f: () => {} }) }, '.a.f is a function'],
    ['a proxy, and nothing else', trapped, 'It is a proxy'],
    ['accessors, and nothing else', accessors, 'It is an object that has more than plain data'],
    ['null', null, expect.stringMatching(/^It is an? object/)],
    [
      'a hidden property of an object without a prototype',
      { a: Object.defineProperty(Object.create(null), 'hidden', { value: 1 }) },
      '.a is an object that has more than plain data',
    ],
    ['a promise', { a: Promise.resolve() }, '.a is an instance of Promise'],
    ['nothing in particular: each part would come back by itself', Object.assign([1], { more: 1 }), undefined],
    ['twenty levels down', deep(25), `${'.in'.repeat(20)} is an object that has more than plain data`],
    ['nineteen levels down', deep(19), `${'.in'.repeat(19)} is a function`],
  ])('%s', (_, value, expected) => {
    if (expected !== undefined) expect(notKeptAt('not-serializable', value)).toStrictEqual({ notKeptAt: expected });
    else expect(notKeptAt('not-serializable', value)).toStrictEqual({});
  });

  it('is not looked for where that is not what is wrong', () => {
    expect(notKeptAt('too-large', () => {})).toStrictEqual({});
    expect(notKeptAt('not-taken', () => {})).toStrictEqual({});
  });

  it('I12 no getter is called, and not more than a thousand places are looked at', () => {
    let called = 0;
    const value = {
      get secret() {
        called += 1;
        return () => {};
      },
    };
    notKeptAt('not-serializable', { value, f: () => {} });
    expect(called).toBe(0);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`p${n}`, n]));
    expect(notKeptAt('not-serializable', { ...many, last: () => {} })).toStrictEqual({});
    const entries = Array.from({ length: 1_000 }, (_, n) => [n, n] as [unknown, unknown]);
    expect(notKeptAt('not-serializable', new Map([...entries, ['last', () => {}]]))).toStrictEqual({});
  });
});

describe('the warning', () => {
  async function warningsOf(body: () => void): Promise<string[]> {
    const warnings: (Error & { code?: string })[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    body();
    await new Promise(setImmediate);
    process.off('warning', listener);
    return warnings.filter(({ code }) => code === 'RERUNSAFE_NOT_STORED').map(({ message }) => message);
  }

  it('says what is lost, why, where, and what later callers will get; once for an operation and once for each of its steps', async () => {
    const operation = `not-kept/${randomUUID()}`;
    expect(
      await warningsOf(() => {
        for (const _ of [1, 2]) {
          warnNotKept({ operation, notKept: 'not-serializable', notKeptAt: '.total is an instance of Money' });
          warnNotKept({ operation, notKept: 'too-large', step: 'ship' });
          warnNotKept({ operation, notKept: 'not-serializable', step: 'mail' });
          warnNotKept({ operation: `${operation}/other`, notKept: 'not-taken' });
        }
      }),
    ).toEqual([
      `${operation}: the work was done, but its value is not kept (it would not come back as it is: return plain data, no functions, promises or class instances, or give a codec). .total is an instance of Money. Later callers get RESULT_NOT_STORED.`,
      `${operation}, step "ship": the work was done, but its value is not kept (it is larger than the store takes: return a reference to it). An attempt that has to begin again gets RESULT_NOT_STORED, and the run is blocked.`,
      `${operation}, step "mail": the work was done, but its value is not kept (it would not come back as it is: return plain data, no functions, promises or class instances). An attempt that has to begin again gets RESULT_NOT_STORED, and the run is blocked.`,
      `${operation}/other: the work was done, but its value is not kept (the store did not take it). Later callers get RESULT_NOT_STORED.`,
    ]);
  });
});
