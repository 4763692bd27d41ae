/**
 * Values by their kinds: what comes back from a replay exactly as it was first given, on every store. `docs/values.md` lists these kinds.
 *
 * @module
 */

export interface Kind {
  /** As the page names it. */
  readonly kind: string;
  /** What there is to say of it. */
  readonly note?: string;
  /** A new one each time. */
  readonly values: Readonly<Record<string, () => unknown>>;
}

const JUST_JSON = (text: string): unknown => JSON.parse(text);

// The compiler's target does not know it yet, the regular expressions of Node do.
const FLAG_V: string = 'v';

/** As deep as that, objects and arrays in turn. */
export function nested(levels: number, innermost: unknown): unknown {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { in: value } : [value];
  return value;
}

export const KEPT: readonly Kind[] = [
  { kind: '`undefined`, `null`, `true`, `false`', values: { undefined: () => undefined, null: () => null, false: () => false, true: () => true } },
  {
    kind: 'numbers',
    note: 'also `-0`, `NaN`, `Infinity`',
    values: {
      '0': () => 0,
      '-0': () => -0,
      NaN: () => Number.NaN,
      infinity: () => Number.POSITIVE_INFINITY,
      'minus infinity': () => Number.NEGATIVE_INFINITY,
      'extreme numbers': () => [Number.MIN_VALUE, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER + 2, 0.1, -1e-7],
    },
  },
  { kind: 'bigints', values: { 'a bigint': () => 2n ** 80n, 'a negative bigint of 600 digits': () => -(2n ** 2000n) } },
  {
    kind: 'text',
    note: 'any: also control characters and halves of surrogate pairs',
    values: {
      'an empty string': () => '',
      'odd text': () => 'a\u0000b"\\\n\u2028😀\uD800',
      'lone surrogates': () => ['\uDC00\uD800', { '\uDFFF': '\uD83D' }],
      'every character up to 0x2ff': () => Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join(''),
      'text like that of escapes': () => '\\u0000 \\ud800 \\\\u005c \ufeff\uffff',
      'text of 100 kB': () => 'ä€😀'.repeat(11_000),
    },
  },
  {
    kind: 'dates',
    values: {
      'a date': () => new Date(86_400_000),
      'an invalid date': () => new Date(Number.NaN),
      'the first and the last date': () => [new Date(-8.64e15), new Date(8.64e15), new Date(-1), new Date(-62_198_755_200_000)],
    },
  },
  {
    kind: 'plain objects',
    note: 'with any names, also `__proto__` where all the rest is JSON',
    values: {
      'an empty object': () => ({}),
      'names of the language': () => JUST_JSON('{"__proto__": {"admin": true}, "constructor": 1, "": 2, "toString": null, "then": [], "length": 0}'),
      'names of the language, beside what is no JSON': () =>
        Object.fromEntries(['', 'constructor', 'hasOwnProperty', 'then', 'toJSON', 'length'].map((name, n) => [name, [undefined, -0, 1n][n % 3]])),
      'what looks like the stored form': () => ({ json: { json: [1] }, kind: 'packed', packed: 'x', value: [['Date', 'x'], -1] }),
      'what looks like the form of the library': () => [['Date', 'x'], ['Buffer', 1], -2, [-7, 3], undefined],
    },
  },
  {
    kind: 'objects without a prototype',
    values: {
      'no prototype': () => Object.assign(Object.create(null), { a: 1, '': 2, constructor: 3 }),
      'no prototype within': () => ({ headers: Object.assign(Object.create(null), { a: undefined }) }),
    },
  },
  {
    kind: 'arrays',
    note: 'also with holes',
    values: {
      'an empty array': () => [],
      'a hole': () => Object.assign(new Array(3), { 0: 1, 2: 3 }),
      'nothing but holes': () => new Array(5),
      'a place far out': () => Object.assign(new Array(10_001), { 10000: 'x' }),
      'an array of 10,000 entries': () => Array.from({ length: 10_000 }, (_, n) => ({ id: n, at: 'x' })),
      'an array of 10,000 entries that are no JSON': () => Array.from({ length: 10_000 }, (_, n) => (n % 2 === 0 ? undefined : n)),
    },
  },
  {
    kind: 'maps and sets',
    note: 'in their order, with keys of any kind',
    values: {
      'a map': () =>
        new Map<unknown, unknown>([
          [{ a: 1 }, undefined],
          ['k', new Set([1n])],
          [Number.NaN, new Date(1)],
        ]),
      'a set': () => new Set([null, 'x']),
      'a map in a set in a map': () => new Map([[1, new Set([new Map([[new Set([new Map()]), 1]])])]]),
    },
  },
  {
    kind: 'bytes',
    note: '`Buffer`, each typed array, `ArrayBuffer`, `DataView`',
    values: {
      bytes: () => new Uint8Array([0, 255, 128]),
      'a buffer': () => Buffer.from([0, 255, 128]),
      'a part of a buffer': () => Buffer.from('abcdef').subarray(2, 4),
      'a part of bytes': () => new Uint8Array([1, 2, 3, 4]).subarray(1, 3),
      'no bytes': () => [new Uint8Array(), Buffer.alloc(0), new ArrayBuffer(0)],
      'a typed array': () => new Float64Array([0.1, -0, Number.NaN]),
      'whole numbers of 64 bits': () => [new BigInt64Array([1n, -5n]), new BigUint64Array([2n ** 64n - 1n])],
      'other typed arrays': () => [
        new Int8Array([-1]),
        new Uint8ClampedArray([1, 255]),
        new Int16Array([-2]),
        new Uint16Array([3]),
        new Uint32Array([4]),
      ],
      'an ArrayBuffer and a view': () => [new Uint8Array([1, 2]).buffer, new DataView(new Uint8Array([1, 2, 3]).buffer, 1)],
    },
  },
  {
    kind: '`URL`, `URLSearchParams`',
    values: { 'a URL': () => new URL('https://ä.example/a?b=1#c'), 'its parameters': () => new URLSearchParams('a=1&a=2&ü=ä') },
  },
  {
    kind: 'regular expressions',
    note: 'with `lastIndex` 0',
    values: { 'a regular expression': () => /a+/gi, 'odd ones': () => [/(?:)/, /[/]\/\n/dmsuy, new RegExp('[a&&b]', FLAG_V)] },
  },
  { kind: 'boxed primitives', values: { 'boxed primitives': () => ['a', 1, -0, true, 1n].map(Object) } },
  {
    kind: 'the same object in several places, and cycles',
    note: 'one object afterwards, too',
    values: {
      'a repeated reference': () => {
        const x = { y: 1 };
        return { one: x, two: x };
      },
      'an array with repeated references': () => {
        const shared = [new Date(1), Buffer.from('a'), new Map()];
        return [shared, shared[0], shared[1], shared[2], shared];
      },
      'a cyclic object': () => {
        const loop: Record<string, unknown> = { a: 1 };
        return Object.assign(loop, { self: loop, list: [loop] });
      },
      'a map that is its own key': () => {
        const map = new Map<unknown, unknown>();
        return map.set(map, new Set([map]));
      },
    },
  },
  {
    kind: 'all of these within each other',
    note: 'JSON 1000 levels deep, the others 500',
    values: {
      'nested values': () => ({ a: [{ b: undefined, c: [new Date(1), null, '', -0] }], d: { e: new Map([['f', Buffer.from('g')]]) } }),
      '1000 levels of JSON': () => nested(1_000, 1),
      '500 levels, and no JSON': () => nested(500, -0),
    },
  },
  {
    kind: 'frozen and sealed objects',
    note: 'what comes back is not frozen',
    values: {
      'a frozen object': () => Object.freeze({ a: Object.freeze([1]) }),
      'a frozen object with a date': () => Object.freeze({ at: Object.freeze(new Date(1)) }),
      'a sealed object': () => Object.seal({ a: 1n }),
      'an array that nothing can be added to': () => Object.preventExtensions([1, undefined]),
    },
  },
];

/** By their names, one of each. */
export const VALUES: readonly (readonly [string, unknown])[] = KEPT.flatMap(({ values }) =>
  Object.entries(values).map(([name, make]) => [name, make()] as const),
);
