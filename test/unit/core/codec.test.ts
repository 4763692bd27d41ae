import { describe, expect, it } from 'vitest';
import { decode, encode } from '../../../src/core/codec.ts';
import { VALUES } from '../../support/values.ts';

class Money {
  readonly cents = 7;
}
const loop: Record<string, unknown> = {};
loop.self = loop;
const forged = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}') as object;

/** Through the text that stores keep. */
const throughText = (value: unknown): unknown => {
  const encoding = encode(value);
  if (!encoding.ok) throw new Error('not kept');
  return decode(JSON.parse(JSON.stringify(encoding.encoded)));
};

describe('the codec', () => {
  it.each(VALUES)('%s comes back as it is', (_, value) => {
    expect(throughText(value)).toStrictEqual(value);
  });

  it.each([
    ['a text', 'odd \u0000 \uD800 ä'],
    ['numbers', [0, 1.5, -3, Number.MAX_SAFE_INTEGER, 1e308]],
    ['null', null],
    ['nested', { a: [{ b: true, c: [] }], d: { e: {} }, f: '' }],
    ['names of the language', forged],
    ['what looks like the stored form', { json: { json: [1] } }],
  ])('plain JSON lies there as it is: %s', (_, value) => {
    const encoding = encode(value);
    expect(encoding).toStrictEqual({ ok: true, encoded: { json: value } });
    expect(throughText(value)).toStrictEqual(value);
  });

  it.each([
    ['undefined inside', { a: undefined }],
    ['a hole', Object.assign(new Array(2), { 1: 1 })],
    ['-0', [-0]],
    ['no prototype', Object.assign(Object.create(null) as object, { a: 1 })],
    ['a repeated reference', [forged, forged]],
    ['a cycle', loop],
  ])('what JSON would change goes through the library, or is not kept: %s', (_, value) => {
    const encoding = encode(value);
    if (!encoding.ok) return;
    expect(encoding.encoded).not.toHaveProperty('json');
    expect(throughText(value)).toStrictEqual(value);
  });

  it.each([
    ['a function', () => 1],
    ['an instance of a class', new Money()],
    ['an array with a name', Object.assign([1], { total: 1 })],
    ['a property nobody sees', Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false })],
    ['a symbol', { [Symbol('s')]: 1 }],
    ['toJSON', { toJSON: () => 1 }],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no');
          },
        },
      ),
    ],
  ])('%s is not kept, rather than changed', (_, value) => {
    const encoding = encode(value);
    if (encoding.ok) expect(throughText(value)).toStrictEqual(value);
    else expect(encoding).toEqual({ ok: false });
  });

  const bytes = () => new Uint8Array([1, 2, 3, 4]);
  const url = new URL('https://example.org/?a=1');
  const named = <O extends object>(value: O, enumerable: boolean): O => Object.defineProperty(value, 'total', { value: 1, enumerable });
  const LARGE = 300_000;

  it.each<[string, unknown]>([
    ['a hole and a name', Object.assign(new Array(3), { 0: 1, 2: 3, total: 1 })],
    ['a hole and a name, and nothing else', Object.assign(new Array(1), { total: 1 })],
    ['a hole and a name within', { a: [Object.assign(new Array(2), { 0: 1, total: 1 })] }],
    ['a hole and a hidden name', named(Object.assign(new Array(2), { 0: 1 }), false)],
    ...[true, false].flatMap((seen): [string, unknown][] => [
      [`a typed array with a name, ${seen}`, named(bytes(), seen)],
      [`a large typed array with a name, ${seen}`, named(new Float64Array(LARGE), seen)],
      [`a Buffer with a name, ${seen}`, named(Buffer.from('abc'), seen)],
      [`a large Buffer with a name, ${seen}`, named(Buffer.alloc(LARGE), seen)],
      [`a DataView with a name, ${seen}`, named(new DataView(bytes().buffer), seen)],
      [`a view of a buffer with a name, ${seen}`, new Uint8Array(named(bytes().buffer, seen))],
    ]),
    ['a large typed array with a symbol', Object.assign(new Uint8Array(LARGE), { [Symbol('s')]: 1 })],
    ['a Buffer of shared memory', Buffer.from(new SharedArrayBuffer(2))],
    ['a URL and its own parameters', { url, parameters: url.searchParams }],
    ['the parameters of a URL and it', [url.searchParams, { url }]],
  ])('I3 %s is not kept: it would come back as something else', (_, value) => {
    expect(encode(value)).toEqual({ ok: false });
  });

  it('I3 views of the same bytes are one memory afterwards, or not kept', () => {
    const whole = bytes();
    const [a, b, c] = throughText([whole, whole.buffer, new DataView(whole.buffer)]) as [Uint8Array, ArrayBuffer, DataView];
    expect([a.buffer === b, c.buffer === b]).toEqual([true, true]);
    const torn = [
      [whole, whole.subarray(1, 3)],
      [whole.subarray(0, 3), whole.subarray(2)],
      [whole.subarray(1), whole.buffer],
      [whole, Buffer.from(whole.buffer)],
      new Map([[Buffer.from(whole.buffer), new Set([whole.buffer])]]),
    ];
    for (const value of torn) expect(encode(value)).toEqual({ ok: false });
  });

  it('what lies side by side in one pool has nothing in common, and is kept', () => {
    const small = ['a', 'b', 'c'].map((text) => Buffer.from(text));
    expect(new Set(small.map(({ buffer }) => buffer)).size).toBe(1);
    const halves = [bytes().subarray(0, 2), bytes().subarray(2)];
    expect(throughText([...small, small[0], halves])).toStrictEqual([...small, small[0], halves]);
  });

  it('names of large views are looked for without a list of their places', () => {
    const view = new Uint8Array(20_000_000);
    const startedAt = performance.now();
    expect(encode(named(view, false))).toEqual({ ok: false });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('what the caller does to the value afterwards changes nothing, and each gets a copy of its own', () => {
    const value = { items: [1] };
    const encoding = encode(value);
    value.items.push(2);
    if (!encoding.ok) throw new Error('not kept');
    const first = decode(encoding.encoded) as typeof value;
    first.items.push(3);
    expect(decode(encoding.encoded)).toEqual({ items: [1] });
  });

  it('a value nested too deep is not kept, and nothing throws', () => {
    let deep: unknown = 1;
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(encode(deep)).toEqual({ ok: false });
  });

  it('reads what earlier versions kept (golden)', () => {
    expect(decode([{ id: 1, at: 2 }, 'ch_1', ['Date', '2026-03-01T00:00:00.000Z']])).toEqual({
      id: 'ch_1',
      at: new Date('2026-03-01T00:00:00.000Z'),
    });
    expect(decode(-1)).toBeUndefined();
    expect(decode([['Buffer', 1], 'bAP+A'])).toEqual(Buffer.from([0, 255, 128]));
    expect(decode({ json: { id: 'ch_1' } })).toEqual({ id: 'ch_1' });
  });
});
