/**
 * What Powertools is asked to hash and to keep.
 *
 * @module
 */
export const PAYLOADS: readonly (readonly [string, unknown])[] = [
  ['a text', 'order-1'],
  ['an empty text', ''],
  ['a number', 42],
  ['0', 0],
  ['null', null],
  ['false', false],
  ['an empty object', {}],
  ['an empty array', []],
  ['an array in its order', ['b', 'a', [2, 1]]],
  ['names in any order, and in both cases', { b: 1, A: 2, a: 3, B: { z: 1, Y: 2 }, 10: 'x', 9: 'y' }],
  ['missing parts', [undefined, null, { a: undefined }]],
  ['a date', { at: new Date(86_400_000) }],
  ['what JSON makes of a map, a set and a class', { map: new Map([['a', 1]]), set: new Set([1]), url: new URL('https://example.com/a?b=c') }],
  ['bytes', { body: Buffer.from('abc') }],
  ['umlauts and emoji', { 'Ünï😀': 'ß\u2028\uD800' }],
];

export const RESULTS: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['false', false],
  ['0', 0],
  ['-0.25', -0.25],
  ['1e-20', 1e-20],
  ['the largest safe number', Number.MAX_SAFE_INTEGER],
  ['the least safe number', Number.MIN_SAFE_INTEGER],
  ['a small bigint, which becomes a number', 10n],
  ['a large bigint', 2n ** 80n],
  ['a large negative bigint', -(2n ** 70n)],
  ['an empty text', ''],
  ['text', 'a"\\\n\u2028😀'],
  ['an empty object', {}],
  ['an empty array', []],
  ['bytes', new Uint8Array([0, 255, 128])],
  ['a buffer, which becomes plain bytes', Buffer.from([0, 255, 128])],
  ['a set of texts', new Set(['a', 'b'])],
  ['a set of numbers', new Set([1, -2.5])],
  ['a set of large bigints', new Set([2n ** 80n])],
  ['a set of bytes', new Set([new Uint8Array([1, 2])])],
  ['a map, which becomes an object', new Map([['a', new Map([['b', 1]])]])],
  ['a response', { statusCode: 201, headers: { etag: '"1"' }, body: '{"id":"c-1"}', isBase64Encoded: false }],
  ['nested values', { a: [{ b: null, c: [true, '', [-1.5]] }], d: { e: new Set(['x']), f: new Uint8Array([7]) } }],
];
