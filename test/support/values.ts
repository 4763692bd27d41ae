/** What comes back from a replay exactly as it was first given, on every store. */
export const VALUES: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['0', 0],
  ['-0', -0],
  ['NaN', Number.NaN],
  ['an empty string', ''],
  ['false', false],
  ['a date', new Date(86_400_000)],
  ['an invalid date', new Date(Number.NaN)],
  ['a bigint', 2n ** 80n],
  [
    'a map',
    new Map<unknown, unknown>([
      [{ a: 1 }, undefined],
      ['k', new Set([1n])],
    ]),
  ],
  ['a set', new Set([null, 'x'])],
  ['bytes', new Uint8Array([0, 255, 128])],
  ['a buffer', Buffer.from([0, 255, 128])],
  ['a typed array', new Float64Array([0.1, -0])],
  ['nested values', { a: [{ b: undefined, c: [new Date(1), null, '', -0] }], d: { e: new Map([['f', Buffer.from('g')]]) } }],
  [
    'a repeated reference',
    (() => {
      const x = { y: 1 };
      return { one: x, two: x };
    })(),
  ],
  ['odd text', 'a\u0000b"\\\n\u2028😀\uD800'],
  ['a regular expression', /a+/gi],
  ['a hole', Object.assign(new Array(3), { 0: 1, 2: 3 })],
  ['an empty object', {}],
  ['text of 100 kB', 'ä€😀'.repeat(11_000)],
];
