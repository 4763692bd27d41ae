import { describe, expect, it } from 'vitest';
import type { Whole } from '../../../src/core/record.ts';
import { closed, opened, type Seal, sealed, stepPlace } from '../../../src/core/seal.ts';
import { aesSeal } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';

const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);
const value = (json: unknown): Whole => ({ kind: 'value', value: { json } });
/** Shows what it was asked; text in, the same text out. */
const plain: Seal = { close: (text, boundTo) => `${boundTo}|${text}`, open: (text, boundTo) => text.slice(boundTo.length + 1) };
const refusal = (body: () => unknown): unknown => {
  try {
    return body();
  } catch (error) {
    return error;
  }
};
const throws = (error: unknown) => (): never => {
  throw error;
};

describe('keys', () => {
  it.each<[string, unknown, string]>([
    ['none', { keys: {}, current: 'a' }, 'aesSeal: current is none of the keys.'],
    ['another', { keys: { one }, current: 'two' }, 'aesSeal: current is none of the keys.'],
    ['one that is none', { keys: { a: 5 }, current: 'a' }, 'aesSeal: the key "a" must be 32 bytes, is 0.'],
    ['one that is too short', { keys: { a: 'short' }, current: 'a' }, 'aesSeal: the key "a" must be 32 bytes, is 3.'],
    ['an old one that is too long', { keys: { one, old: Buffer.alloc(33) }, current: 'one' }, 'aesSeal: the key "old" must be 32 bytes, is 33.'],
    ['an id with a dot', { keys: { 'a.b': one }, current: 'a.b' }, 'aesSeal: a key id must be 1 to 64 letters, digits, - or _.'],
    ['an id without characters', { keys: { '': one, a: one }, current: 'a' }, 'aesSeal: a key id must be 1 to 64 letters, digits, - or _.'],
    [
      'an id that is too long',
      { keys: { ['a'.repeat(65)]: one, a: one }, current: 'a' },
      'aesSeal: a key id must be 1 to 64 letters, digits, - or _.',
    ],
    [
      'all of it',
      { keys: { 'a b': 5 }, current: 'x' },
      'aesSeal: the key "a b" must be 32 bytes, is 0; a key id must be 1 to 64 letters, digits, - or _; current is none of the keys.',
    ],
    ['no keys', { current: 'a' }, 'aesSeal: keys is missing.'],
    ['no current', { keys: { one } }, 'aesSeal: current is missing.'],
    [
      'a current that is no name',
      { keys: { one }, current: '' },
      'aesSeal: current must be a string of 1 to 64 characters, without control characters.',
    ],
    ['keys that are none', { keys: 'one', current: 'a' }, 'aesSeal: keys must be an object.'],
  ])('%s: refused in words', (_, options, message) => {
    expect(refusal(() => aesSeal(options as never))).toMatchObject({ code: 'INVALID_OPTIONS', message });
  });

  it('as bytes, as base64, with ids of up to 64 characters', () => {
    const id = 'A-_9'.repeat(16);
    const seal = aesSeal({ keys: { [id]: new Uint8Array(one), b: two.toString('base64') }, current: id });
    expect(seal.open(seal.close('text', 'p'), 'p')).toBe('text');
    const other = aesSeal({ keys: { b: two }, current: 'b' });
    expect(seal.open(other.close('text', 'p'), 'p')).toBe('text');
  });

  it('what is sealed says by which key, and is never the same twice', () => {
    const seal = aesSeal({ keys: { one }, current: 'one' });
    const [first, second] = [seal.close('text', 'p'), seal.close('text', 'p')];
    expect(first).toMatch(/^one\.[A-Za-z0-9_-]+$/);
    expect(first).not.toBe(second);
    expect(Buffer.from(first.slice(4), 'base64url')).toHaveLength(12 + 4 + 16);
  });

  it('does not open in another place, with another key of the same name, or without it', () => {
    const seal = aesSeal({ keys: { one }, current: 'one' });
    const text = seal.close('text', 'p');
    expect(() => seal.open(text, 'q')).toThrow();
    expect(() => aesSeal({ keys: { one: two }, current: 'one' }).open(text, 'p')).toThrow();
    expect(() => aesSeal({ keys: { two }, current: 'two' }).open(text, 'p')).toThrow('there is no key "one"');
  });

  it('opens what earlier versions have sealed (golden)', () => {
    const seal = aesSeal({ keys: { one }, current: 'one' });
    expect(seal.open('one._OFlwSTGXpS8ALWLFtFFDXoNSWUE6aQiCJLCvkOVrG0', 'r1_x')).toBe('text');
  });
});

describe('what is sealed', () => {
  it('is the outcome, bound to its place; a person’s word is still seen as one', () => {
    expect(closed(value(1), plain, 'p')).toStrictEqual({ kind: 'sealed', sealed: 'p|{"kind":"value","value":{"json":1}}' });
    expect(closed({ kind: 'value', value: 1, resolved: true }, plain, 'p')).toMatchObject({ kind: 'sealed', resolved: true });
    expect(opened(closed(value(1), plain, 'p'), plain, 'p')).toStrictEqual(value(1));
    expect(stepPlace('r1_x', 'ship')).toBe('r1_x/ship');
  });

  it.each([
    ['a promise', async () => 'later', 'seal.close must answer at once, not by a promise'],
    ['no text', () => 7, 'seal.close must return a text, at once'],
  ])('%s is no seal', (_, close, message) => {
    expect(refusal(() => closed(value(1), { ...plain, close: close as never }, 'p'))).toStrictEqual(new TypeError(message));
  });

  it('not where no seal was chosen; and what is large is packed first', () => {
    const large = value(incompressible(100) + 'x'.repeat(10_000));
    expect(sealed(value(1), undefined, 'p')).toStrictEqual(value(1));
    expect(sealed(large, undefined, 'p').kind).toBe('packed');
    const outcome = sealed(large, plain, 'p');
    expect(outcome).toMatchObject({ kind: 'sealed', sealed: expect.stringContaining('p|{"kind":"packed"') });
    expect(opened(outcome as Whole, plain, 'p')).toStrictEqual(large);
  });

  it('I3 nor that there is no value', () => {
    const none: Whole = { kind: 'not-stored', reason: 'too-large' };
    expect(sealed(none, plain, 'p')).toBe(none);
  });

  it('I3 a seal that fails: the value is not kept, and it is warned', async () => {
    const warnings: (Error & { code?: string })[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listener);
    const outcome = sealed(value(1), { ...plain, close: throws(new Error('no entropy')) }, 'p');
    await new Promise(setImmediate);
    process.off('warning', listener);
    expect(outcome).toStrictEqual({ kind: 'not-stored', reason: 'not-serializable' });
    expect(warnings.filter(({ code }) => code === 'RERUNSAFE_SEAL').map(({ message }) => message)).toEqual([
      'The seal could not close what was to be stored; it is done, and not kept. Error: no entropy',
    ]);
  });
});

describe('what does not open', () => {
  const WORDS =
    'The store cannot be used as it is set up: what is stored is sealed and does not open: another key, another place, or somebody changed it.';
  const text: Whole = { kind: 'sealed', sealed: 'p|{"kind":"value"}' };

  it.each<[string, Seal | undefined, object]>([
    ['without a seal', undefined, new Error('no seal was given')],
    ['with one that fails', { ...plain, open: throws(new Error('changed')) }, new Error('changed')],
    [
      'with one that answers later',
      { ...plain, open: (async () => 'later') as never },
      new TypeError('seal.open must answer at once, not by a promise'),
    ],
    ['with one that gives no JSON', { ...plain, open: () => 'no JSON' }, expect.any(SyntaxError)],
  ])('I3 %s: said with the cause', (_, seal, cause) => {
    expect(refusal(() => opened(text, seal, 'p'))).toMatchObject({ code: 'STORE_MISCONFIGURED', message: WORDS, cause });
  });

  it('what was kept before a seal was chosen does', () => {
    expect(opened(value(1), plain, 'p')).toStrictEqual(value(1));
    expect(opened(value(1), undefined, 'p')).toStrictEqual(value(1));
  });
});
