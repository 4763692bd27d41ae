/**
 * What no store keeps, by its kinds: the first caller gets it, later ones are told. `docs/values.md` lists these kinds.
 *
 * @module
 */
import vm from 'node:vm';
import type { RecordStore } from '../../src/core/ports.ts';
import { incompressible } from './incompressible.ts';
import type { Kind } from './values.ts';

class Money {
  readonly cents = 7;
}
class Ids extends Array<number> {}

const throws = (): never => {
  throw new Error('not to be looked at');
};
const hidden = <O extends object>(object: O, name: PropertyKey = 'total'): O => Object.defineProperty(object, name, { value: 2, enumerable: false });

// The types of ES2023 do not know it yet.
const growing = (): unknown => Reflect.construct(ArrayBuffer, [4, { maxByteLength: 8 }]);

/** `not-serializable`, every one of them. */
export const NOT_KEPT: readonly Kind[] = [
  {
    kind: 'instances of classes, also of those that extend what is kept',
    note: 'a result: give a `codec`',
    values: {
      'an instance of a class': () => new Money(),
      'an instance within': () => ({ total: new Money() }),
      'an array of an own class': () => Ids.of(1, 2),
      'a map of an own class': () => new (class extends Map<string, number> {})([['a', 1]]),
      'a date of an own class': () => new (class extends Date {})(1),
      'an object with a prototype': () => Object.create({ a: 1 }),
      'an object of another realm': () => vm.runInNewContext('({ a: 1 })'),
    },
  },
  {
    kind: 'errors',
    note: 'thrown, they are remembered: `PermanentError`',
    values: { 'an error': () => new TypeError('a'), 'an error within': () => ({ error: new Error('a') }) },
  },
  {
    kind: 'functions and symbols',
    values: {
      'a function': () => () => 1,
      'a function within': () => ({ toJSON: () => 1 }),
      'a symbol': () => Symbol('s'),
      'a symbol within': () => [Symbol.for('s')],
    },
  },
  {
    kind: 'promises and what has a `then`',
    note: 'as the result itself it is awaited',
    values: { 'a promise within': () => ({ a: Promise.resolve(1) }), 'what has a then': () => [Object.fromEntries([['then', throws]])] },
  },
  {
    kind: '`WeakMap`, `WeakSet`, `WeakRef`, iterators, `Blob`, `Headers`, `SharedArrayBuffer` and other objects of the platform',
    values: {
      'a WeakMap': () => new WeakMap(),
      'a WeakSet': () => new WeakSet(),
      'a WeakRef': () => ({ a: new WeakRef({}) }),
      'an iterator': () => [1].values(),
      'a blob': () => new Blob(['a']),
      headers: () => new Headers({ a: 'b' }),
      'shared memory': () => new Uint8Array(new SharedArrayBuffer(2)),
    },
  },
  {
    kind: 'names of symbols',
    values: {
      'an object with a name that is a symbol': () => ({ [Symbol('s')]: 1 }),
      'a hidden symbol': () => hidden({ a: undefined }, Symbol.for('s')),
      'a hidden symbol of a map': () => hidden(new Map(), Symbol.for('s')),
    },
  },
  {
    kind: 'properties that are not enumerable',
    values: {
      'a hidden property': () => hidden({ a: 1 }),
      'a hidden property, beside what is no JSON': () => hidden({ a: undefined }),
      'a hidden property of an array': () => hidden([1]),
      'a hidden property of a date within': () => ({ at: hidden(new Date(1)) }),
      'a hidden property of a map': () => hidden(new Map([['a', 1]])),
      'a hidden property of a boxed number': () => hidden(Object(1)),
    },
  },
  {
    kind: 'getters and setters',
    values: {
      'a getter': () => ({
        get a() {
          return 1;
        },
      }),
      'a getter, beside what is no JSON': () => ({
        u: undefined,
        get a() {
          return 1;
        },
      }),
      'a getter that throws': () => ({
        get a() {
          return throws();
        },
      }),
      'a setter': () => ({ set a(_: number) {} }),
    },
  },
  {
    kind: 'proxies',
    note: 'where all is JSON; what throws, in any case',
    values: {
      'a proxy': () => new Proxy({ a: 1 }, {}),
      'a proxy that throws': () => new Proxy({}, { ownKeys: throws }),
      'a proxy that throws at a look': () => [new Proxy({ a: undefined }, { get: throws })],
    },
  },
  {
    kind: 'arrays, maps, dates, bytes, … with names beside their contents',
    values: {
      'an array with a name': () => Object.assign([1], { total: 1 }),
      'a map with a name': () => Object.assign(new Map(), { total: 1 }),
      'a date with a name': () => Object.assign(new Date(1), { total: 1 }),
      'bytes with a name': () => Object.assign(new Uint8Array(1), { total: 1 }),
      'a regular expression in the middle of a search': () => Object.assign(/a/g, { lastIndex: 3 }),
    },
  },
  {
    kind: 'a name `__proto__`, beside what is no JSON',
    values: { 'a name __proto__, beside what is no JSON': () => Object.assign(JSON.parse('{"__proto__": 1}'), { u: undefined }) },
  },
  { kind: 'an `ArrayBuffer` that can grow', values: { 'an ArrayBuffer that can grow': growing } },
  {
    kind: 'more than some thousand levels',
    values: { '100,000 levels': () => Array.from({ length: 100_000 }).reduce((inner) => [inner], 1 as unknown) },
  },
];

/** `too-large`, for this store: also in parts, and compressed. */
export function tooLarge({ limits }: RecordStore): string {
  const { maxRecordBytes, parts } = limits;
  return incompressible(1.1 * Math.max(maxRecordBytes, parts === undefined ? 0 : parts.bytesEach * parts.most));
}
