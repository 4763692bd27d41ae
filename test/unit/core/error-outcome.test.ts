import { describe, expect, it } from 'vitest';
import { errorOutcome } from '../../../src/core/error-outcome.ts';
import { PermanentError } from '../../../src/index.ts';

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no');
    },
  },
);

describe('what is remembered of a thrown thing', () => {
  it.each<[string, unknown, object]>([
    ['an error', new TypeError('wrong'), { name: 'TypeError', message: 'wrong' }],
    [
      'one with a code and data',
      new PermanentError('declined', { code: 'card', data: { last4: '4242' } }),
      { name: 'PermanentError', message: 'declined', code: 'card', data: { json: { last4: '4242' } } },
    ],
    ['a code that is a number', { name: 'E', message: 'm', code: 7 }, { name: 'E', message: 'm', code: 7 }],
    ['a code that JSON does not know', { name: 'E', message: 'm', code: Number.NaN }, { name: 'E', message: 'm' }],
    ['a code that is an object', { name: 'E', message: 'm', code: {} }, { name: 'E', message: 'm' }],
    ['data that would not come back', { name: 'E', message: 'm', data: () => {} }, { name: 'E', message: 'm' }],
    ['no name and no message', {}, { name: 'Error', message: '[object Object]' }],
    ['a name and a message that are none', { name: 5, message: 6 }, { name: 'Error', message: '[object Object]' }],
    ['a text', 'just so', { name: 'Error', message: 'just so' }],
    ['null', null, { name: 'Error', message: 'null' }],
    ['undefined', undefined, { name: 'Error', message: 'undefined' }],
    ['a function', Object.assign(() => {}, { toString: () => 'f', message: 'm' }), { name: 'Error', message: 'f' }],
    ['what cannot be looked at', hostile, { name: 'Error', message: 'an error that cannot be shown' }],
    ['what has no text', Object.create(null), { name: 'Error', message: 'an error that cannot be shown' }],
  ])('I2 %s', (_, thrown, error) => {
    expect(errorOutcome(thrown)).toStrictEqual({ kind: 'error', error });
  });

  it('I2 is bounded; bare, without its data and shorter', () => {
    const thrown = { name: 'n'.repeat(300), message: 'm'.repeat(20_000), code: 'c', data: { json: 1 } };
    const { error } = errorOutcome(thrown);
    expect([error.name.length, error.message.length, 'data' in error]).toEqual([200, 10_000, true]);
    expect(errorOutcome('t'.repeat(20_000)).error.message).toHaveLength(10_000);
    const bare = errorOutcome(thrown, true).error;
    expect(bare).toStrictEqual({ name: 'n'.repeat(200), message: 'm'.repeat(1_000), code: 'c' });
  });
});
