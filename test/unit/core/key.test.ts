import { describe, expect, it } from 'vitest';
import { fingerprintOf, fingerprintsDiffer, ownFingerprint } from '../../../src/core/fingerprint.ts';
import { atOnce, copied, derivedKey, hashParts, keyParts, labelOf, recordId, scopeHash, scopeParts, taken } from '../../../src/core/key.ts';

function refusal(body: () => unknown): { code?: string; message?: string } {
  try {
    return { message: `taken: ${JSON.stringify(body())}` };
  } catch (error) {
    return error as Error;
  }
}

describe('the parts of a key', () => {
  it.each([
    ['a', ['a']],
    [0, ['0']],
    [-0, ['0']],
    [5n, ['5']],
    [1.5, ['1.5']],
    [-3, ['-3']],
    [Number.MAX_SAFE_INTEGER, ['9007199254740991']],
    [
      ['a', 1, 2n],
      ['a', '1', '2'],
    ],
    ['😀', ['😀']],
  ])('%s is one', (key, parts) => {
    expect(keyParts(key)).toEqual(parts);
    expect(scopeParts(key)).toEqual(parts);
  });

  it.each([
    [undefined, 'is missing (undefined)'],
    [null, 'is missing (null)'],
    ['', 'is missing (an empty string)'],
    [[], 'is an empty array'],
    [['a', ''], 'is missing (an empty string)'],
    ['undefined', 'is the text "undefined", which is what is left of a value that was not there'],
    ['null', 'is the text "null", which is what is left of a value that was not there'],
    ['NaN', 'is the text "NaN", which is what is left of a value that was not there'],
    ['[object Object]', 'is the text "[object Object]", which is what is left of a value that was not there'],
  ])('I9 %j is no key and no scope: all who lack it would share one', (key, why) => {
    expect(refusal(() => keyParts(key, 'o'))).toMatchObject({
      code: 'MISSING_KEY',
      message: `o: the idempotency key ${why}. Nothing was run.`,
      facts: { operation: 'o' },
    });
    if (key === undefined) expect(scopeParts(key)).toEqual([]);
    else
      expect(refusal(() => scopeParts(key, 'o'))).toMatchObject({
        code: 'MISSING_SCOPE',
        message: `o: the scope ${why}; records are never shared by accident. Nothing was run.`,
        facts: { operation: 'o' },
      });
  });

  it.each([
    [{}, 'a value of type object'],
    [true, 'a value of type boolean'],
    [[['a']], 'a value of type object'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    [-(2 ** 53), '-9007199254740992'],
    ['a\uD800', 'one with a lone surrogate'],
  ])('I9 %j is refused', (key, given) => {
    for (const [what, parts] of [
      ['key', () => keyParts(key)],
      ['scope', () => scopeParts(key)],
    ] as const) {
      expect(refusal(parts)).toMatchObject({
        code: 'INVALID_OPTIONS',
        message: `${what}: a part of the ${what} must be a well-formed string, a safe number or a bigint, not ${given}.`,
      });
    }
  });

  it('I9 an array that its owner goes on using is copied, at once where it can be', async () => {
    const array = ['a'];
    const at = taken(array) as string[];
    const later = taken(Promise.resolve(array));
    array[0] = 'b';
    expect([at, copied(5), copied(null)]).toEqual([['a'], 5, null]);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toEqual(['b']);
    expect(await later).not.toBe(array);
    expect([atOnce(2, (n) => n + 1), atOnce(undefined, () => 'u'), atOnce(null, () => 'n')]).toEqual([3, 'u', 'n']);
    expect(await atOnce(Promise.resolve(2), (n) => n + 1)).toBe(3);
  });
});

describe('what is made of a key never changes (golden)', () => {
  it('I1 ids, scopes, derived keys and hashes', () => {
    const id = recordId('payments/charge', ['tenant'], ['order', '42']);
    expect({ id, scope: scopeHash(['tenant']), derived: derivedKey(id, 'charge'), parts: hashParts('a', ['b', 'é'], []) }).toEqual({
      derived: '1zhOTLHb7mzMyHj2vvM5O4JMY_vKEHFVqyjNq26WQjY',
      id: 'r1_3ui0yanl786QLijIMsGZ35_iXpY3-UCXdYWkN0JfyoQ',
      parts: 't3uUWeAYtb96_dKBeHj84dmCabbSa6C_BczGRWh-FPA',
      scope: 'sRA7GIcFpJR2EZPChNNLeFOjx5VsxOOjN5Wd_-jfTzE',
    });
    expect(scopeHash([])).toBe('');
  });

  it('I9 fingerprints', () => {
    const inputs: Record<string, unknown> = {
      text: 'a',
      number: 1.5,
      nothing: undefined,
      null: null,
      list: [1, undefined, [true]],
      date: new Date(5),
      map: new Map<unknown, unknown>([['a', undefined]]),
      set: new Set([undefined, 1]),
      bytes: new Uint8Array([1, 2]).buffer,
      view: new Uint8Array([0, 1, 2]).subarray(1),
      big: 5n,
      nan: Number.NaN,
      lone: 'a\uD800',
      marked: { $date: '5', b: undefined },
      json: { toJSON: () => ({ a: 1 }) },
      own: { toJSON: 5 },
    };
    expect(Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, fingerprintOf(input)]))).toEqual({
      big: 'v1:rbVGIRPD2G_HM4VgMOo6ecaeQNVKRsxTlof5BwxCxoU',
      bytes: 'v1:wab197-imrLO6mIvO_geyyv--RELHmthVVv6EoH403U',
      date: 'v1:pVNW6875yi4f2Bu-C-D5yOtIBRjD0JVtRkY3_sduEAM',
      json: 'v1:6siIYUkg9aB4OpqtUobLCIJL99EMvEKefOLQKNyhVJQ',
      list: 'v1:43e-bjFcFvhPUUCUp5_UliL7frdxUU-aPkn3qaE5eAI',
      lone: 'v1:A6n6yoCoYqBPZ3Coy2Qy7X9Sx8NRjNwYrPWe6lDYCjo',
      map: 'v1:-IY-18qqsuyHC9l6ypuB8gu2XMo9clmBKD1x8hohgqo',
      marked: 'v1:AiTAjd6PIBHaRouNHgcharhkjQf6XHTaUosbccwLd7s',
      nan: 'v1:2NJyO4_BUtoFKaRBe7poSDfQBpF4Gp-4_eCsAn2i8V0',
      nothing: 'v1:WwSr9rUr3rmwZMnin4CDCj8hCM46aDoU9e8QHU308YA',
      null: 'v1:NLiGJ7EqBuWmhKU3B96yVg3Y5y6efMO4tnKlH25QnNg',
      number: 'v1:PR_kVOp9W6Smrnh8LBYrkc3XnQ6_ZpL1NCeDITt7J7U',
      own: 'v1:IwN2fIeJV028wLmKsFntkZEEDT3zrJyQllSpaAdPWs8',
      set: 'v1:R0HJpDijz_6i4oDFuzQC-pX7aCHgbx8x4uy4laWaBuc',
      text: 'v1:VdkkEx7yAjqz3jVw1p8dXQG92mwv-jzFPH6DBfrIVb0',
      view: 'v1:wab197-imrLO6mIvO_geyyv--RELHmthVVv6EoH403U',
    });
    expect(ownFingerprint('a')).toBe('own:rL4o-etNlOnV6yRBqfqWqanflU6vjgPdVoN512xfjA0');
  });

  it('I9 nested to 200, and no deeper', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(fingerprintOf(nested(200))).toMatch(/^v1:/);
    expect(refusal(() => fingerprintOf(nested(201)))).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'input: it is cyclic, or nested deeper than 200.',
    });
    expect(refusal(() => fingerprintOf(() => {}))).toMatchObject({ message: 'input: a function has no fingerprint.' });
  });

  it('I9 one that is missing, or of another version, differs from none', () => {
    expect([fingerprintsDiffer('v1:a', undefined), fingerprintsDiffer('v1:a', 'v1:a'), fingerprintsDiffer('v1:a', 'own:a')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(fingerprintsDiffer('v1:a', 'v1:b')).toBe(true);
  });

  it('labels: at most 200 characters, on one line, no character cut in two', () => {
    expect(labelOf(['a'.repeat(200)])).toBe('a'.repeat(200));
    expect(labelOf(['a'.repeat(201)])).toBe(`${'a'.repeat(199)}…`);
    expect(labelOf([`${'a'.repeat(198)}😀a`])).toBe(`${'a'.repeat(198)}…`);
    expect(labelOf(['a\nb', 'c\u0000'])).toBe('a b/c ');
  });
});
