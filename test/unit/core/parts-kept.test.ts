import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { packed, unpacked } from '../../../src/core/pack.ts';
import { inParts, isPartName, mustBeWhole, namesPart, ownerOfPart, type Part, partNames, putParts, takeParts } from '../../../src/core/parts.ts';
import type { CallOptions, RecordStore } from '../../../src/core/ports.ts';
import type { InParts, Outcome, Whole } from '../../../src/core/record.ts';
import { incompressible } from '../../support/incompressible.ts';

const OWNER = 'b6f1a0c2-0000-4000-8000-0123456789ab';
const LIMITS = { maxRecordBytes: 4_000, inlineBytes: 100, maxKeyBytes: 100, parts: { bytesEach: 1_000, most: 3 } };
const value = (json: unknown): Whole => ({ kind: 'value', value: { json } });
const ofBytes = (bytes: number): Whole => value('x'.repeat(bytes - JSON.stringify(value('')).length));
const cut = (outcome: Whole, limits: RecordStore['limits'] = LIMITS): { outcome: InParts; parts: readonly Part[] } => {
  const all = inParts(outcome, OWNER, limits);
  if (all === undefined) throw new Error('whole');
  return all;
};
const at = async (body: () => Promise<unknown>): Promise<unknown> => body().catch((error: unknown) => error);

/** A store that has these parts; `call` is asked for each. */
function reading(parts: readonly Part[]) {
  let [calls, now, most] = [0, 0, 0];
  const byName = new Map(parts.map(({ name, bytes }) => [name, bytes]));
  const store = { readPart: async (_: string, name: string) => byName.get(name) } as unknown as RecordStore;
  const call = async <R>(request: (options: CallOptions) => Promise<R>): Promise<R> => {
    calls += 1;
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return request({});
  };
  return { store, call, counts: () => ({ calls, most }) };
}

describe('what lies beside a record', () => {
  it('is cut into pieces of one size, each under a name of its own, and named by hash and length', () => {
    const outcome = ofBytes(2_500);
    const bytes = Buffer.from(JSON.stringify(outcome));
    const hash = createHash('sha256').update(bytes).digest('base64url');
    const { outcome: named, parts } = cut(outcome);
    expect(named).toStrictEqual({ kind: 'parts', of: 'value', owner: OWNER, hash, bytes: 2_500, count: 3 });
    expect(parts.map(({ name, bytes: piece }) => [name, piece.length])).toEqual([0, 1, 2].map((n) => [`${OWNER}.${hash}.${n}`, n < 2 ? 1_000 : 500]));
    expect(Buffer.concat(parts.map(({ bytes: piece }) => piece)).equals(bytes)).toBe(true);
  });

  it('is told by the byte: what just fits into the record, into the parts, and what does not', () => {
    expect([inParts(ofBytes(100), OWNER, LIMITS) === undefined, inParts(ofBytes(101), OWNER, LIMITS) === undefined]).toEqual([true, false]);
    expect([inParts(ofBytes(3_000), OWNER, LIMITS) === undefined, inParts(ofBytes(3_001), OWNER, LIMITS) === undefined]).toEqual([false, true]);
    expect(cut(ofBytes(1_000)).parts).toHaveLength(1);
    expect(cut(ofBytes(1_001)).parts).toHaveLength(2);
    expect(inParts(value('€'.repeat(40)), OWNER, LIMITS), 'bytes, not characters').toBeDefined();
  });

  it('a person’s word is still seen as one', () => {
    expect(cut({ kind: 'value', value: 'x'.repeat(200), resolved: true }).outcome).toMatchObject({ of: 'value', resolved: true });
    expect(cut(ofBytes(200)).outcome).not.toHaveProperty('resolved');
  });
});

describe('names of parts', () => {
  const { outcome, parts } = cut(ofBytes(2_500));

  it('say whose they are, and of which outcome', () => {
    const names = parts.map(({ name }) => name);
    expect(partNames(outcome)).toEqual(names);
    expect([partNames(undefined), partNames(value(1))]).toEqual([[], []]);
    for (const name of names) {
      expect([ownerOfPart(name), namesPart(outcome, name), isPartName(name)]).toEqual([OWNER, true, true]);
      expect([namesPart(undefined, name), namesPart(value(1), name), namesPart({ ...outcome, owner: 'other' }, name)]).toEqual([false, false, false]);
    }
  });

  it.each([
    ['another table’s row', 'orders'],
    ['a short owner', `o.${'h'.repeat(43)}.0`],
    ['a short hash', `${OWNER}.${'h'.repeat(42)}.0`],
    ['a long hash', `${OWNER}.${'h'.repeat(44)}.0`],
    ['no number', `${OWNER}.${'h'.repeat(43)}.`],
    ['a number that is none', `${OWNER}.${'h'.repeat(43)}.x`],
    ['a number that is too long', `${OWNER}.${'h'.repeat(43)}.12345`],
    ['something in front', `/${OWNER}.${'h'.repeat(43)}.0`],
    ['something behind', `${OWNER}.${'h'.repeat(43)}.0/`],
  ])('are told from %s', (_, name) => {
    expect(isPartName(name)).toBe(false);
  });

  it('are not longer than a store takes', () => {
    expect(isPartName(`${'o'.repeat(20)}.${'h'.repeat(43)}.1234`)).toBe(true);
    expect(isPartName(`${'o'.repeat(19)}.${'h'.repeat(43)}.1234`)).toBe(false);
  });
});

describe('parts that are read', () => {
  const rows = Array.from({ length: 300 }, () => incompressible(6));

  it.each<[string, Whole]>([
    ['a value', ofBytes(2_500)],
    ['an error', { kind: 'error', error: { name: 'E', message: 'm'.repeat(200) } }],
    ['something sealed', { kind: 'sealed', sealed: 's'.repeat(200) }],
    ['something packed', { kind: 'packed', packed: Buffer.alloc(300, 1).toString('base64') }],
    ['a person’s word that is packed', { kind: 'packed', packed: Buffer.alloc(300, 1).toString('base64'), resolved: true }],
  ])('I2 give %s back as it was', async (_, outcome) => {
    const { outcome: named, parts } = cut(outcome);
    const { store, call } = reading(parts);
    expect(await takeParts(store, 'r1_x', named, call)).toStrictEqual(outcome);
  });

  it('I2 also in another order, a few requests at a time', async () => {
    const wide = { ...LIMITS, parts: { bytesEach: 100, most: 100 } };
    const outcome = value(rows);
    const { outcome: named, parts } = cut(outcome, wide);
    const { store, call, counts } = reading([...parts].reverse());
    expect(await takeParts(store, 'r1_x', named, call)).toStrictEqual(outcome);
    expect(counts()).toEqual({ calls: parts.length, most: 4 });
  });

  it('of an outcome that is all there nothing is asked', async () => {
    const { store, call, counts } = reading([]);
    const whole = value(1);
    expect(await takeParts(store, 'r1_x', whole, call)).toBe(whole);
    expect(counts().calls).toBe(0);
  });

  it('I3 one that is missing, or was changed, is said, and how many are there', async () => {
    const { outcome, parts } = cut(ofBytes(2_500));
    const words = (there: number) => ({
      code: 'STORE_MISCONFIGURED',
      message: `The store cannot be used as it is set up: a part of the outcome of r1_x is missing or was changed (${there} of 3 are there)`,
    });
    const missing = reading(parts.slice(1));
    expect(await at(() => takeParts(missing.store, 'r1_x', outcome, missing.call))).toMatchObject(words(2));
    const changed = reading(parts.map((part, n) => (n === 1 ? { ...part, bytes: Buffer.alloc(1_000) } : part)));
    expect(await at(() => takeParts(changed.store, 'r1_x', outcome, changed.call))).toMatchObject(words(3));
    const without = reading([]);
    expect(await at(() => takeParts({} as RecordStore, 'r1_x', outcome, without.call))).toMatchObject(words(0));
    const none = { ...outcome, count: 0 };
    expect(await at(() => takeParts(without.store, 'r1_x', none, without.call))).toMatchObject({ code: 'STORE_MISCONFIGURED' });
  });

  it('where there are none to be had, an outcome has to be all there', () => {
    expect(mustBeWhole(value(1))).toStrictEqual(value(1));
    expect(() => mustBeWhole({ kind: 'parts' } as Outcome)).toThrow(
      expect.objectContaining({
        code: 'STORE_MISCONFIGURED',
        message: 'The store cannot be used as it is set up: a record names parts, and this store has none.',
      }),
    );
  });
});

describe('parts that are put', () => {
  it('all of them, in order, a few at a time; a failure ends it when those under way have settled', async () => {
    const parts = Array.from({ length: 10 }, (_, n) => ({ name: `${n}`, bytes: Buffer.alloc(1) }));
    const put: string[] = [];
    await putParts(parts, async ({ name }) => void put.push(name));
    expect(put).toEqual(parts.map(({ name }) => name));
    let ended = 0;
    const failure = new Error('away');
    const failing = putParts(parts, async ({ name }) => {
      put.push(name);
      if (name === '1') throw failure;
      await new Promise((resolve) => setImmediate(resolve));
      ended += 1;
    });
    put.length = 0;
    expect(await at(() => failing)).toBe(failure);
    expect([ended, put.length]).toEqual([3, 0]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(put).toEqual([]);
  });
});

describe('what is packed', () => {
  const text = (length: number): Whole => value('x'.repeat(length - JSON.stringify(value('')).length));

  it('from 4,096 characters on, values and errors, and nothing else', () => {
    expect([packed(text(4_095)).kind, packed(text(4_096)).kind]).toEqual(['value', 'packed']);
    expect(packed({ kind: 'error', error: { name: 'E', message: 'm'.repeat(5_000) } }).kind).toBe('packed');
    for (const other of [
      { kind: 'sealed', sealed: 's'.repeat(5_000) },
      { kind: 'packed', packed: 'p'.repeat(5_000) },
      { kind: 'not-stored', reason: 'too-large' },
    ] as const) {
      expect(packed(other)).toBe(other);
    }
  });

  it('a person’s word is still seen as one; an error never is', () => {
    const word: Whole = { kind: 'value', value: 'x'.repeat(5_000), resolved: true };
    expect(packed(word)).toStrictEqual({ kind: 'packed', packed: expect.any(String), resolved: true });
    expect(packed(text(5_000))).toStrictEqual({ kind: 'packed', packed: expect.any(String) });
    expect(unpacked(packed(word))).toStrictEqual(word);
    const error = { kind: 'error', error: { name: 'E', message: 'm'.repeat(5_000) }, resolved: true } as unknown as Whole;
    expect(packed(error)).not.toHaveProperty('resolved');
  });

  it('I3 what does not unpack is said, with the cause', () => {
    expect(unpacked(text(100))).toStrictEqual(text(100));
    expect(() => unpacked({ kind: 'packed', packed: 'AAAA' } as Whole)).toThrow(
      expect.objectContaining({
        code: 'STORE_MISCONFIGURED',
        message: 'The store cannot be used as it is set up: what is stored is compressed and does not unpack: somebody changed it.',
        cause: expect.any(Error),
      }),
    );
  });
});
