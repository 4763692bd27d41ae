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
