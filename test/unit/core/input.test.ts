import { describe, expect, it } from 'vitest';
import { runOnce } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { bench } from './engine.ts';

describe('bad input', () => {
  const { run, store } = bench();
  const nothing = (): never => {
    throw new Error('the work ran');
  };
  it.each([[undefined], [null], [''], [[]], [['a', '']], [['a', undefined]], [['a', null]]])(
    'a missing key is MISSING_KEY, and nothing runs: %j',
    async (key) => {
      await expect(runOnce({ store, operation: 'o', key: key as never }, nothing)).rejects.toMatchObject({ code: 'MISSING_KEY' });
      expect(store.calls).toHaveLength(0);
    },
  );

  it.each([[{}], [Number.NaN], [2 ** 60], [true], [Symbol('s')], ['\uD800'], [['a', {}]], [[['a']]]])(
    'an unusable key is INVALID_OPTIONS: %#',
    async (key) => {
      await expect(runOnce({ store, operation: 'o', key: key as never }, nothing)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    },
  );

  it('0 is a key, and a number and the string of its digits are one key', async () => {
    expect(await run(() => 'a', { key: 0 })).toMatchObject({ replayed: false });
    expect(await run(() => 'b', { key: '0' })).toMatchObject({ value: 'a' });
    expect(await run(() => 'b', { key: 0n })).toMatchObject({ value: 'a' });
    expect(await run(() => 'c', { key: ['0', '0'] })).toMatchObject({ value: 'c' });
    expect(await run(() => 'd', { key: '00' })).toMatchObject({ value: 'd' });
  });

  it('says all that is wrong with the options in one message, before anything runs', async () => {
    const options = { store: {}, operation: '', key: 'k', leaseMs: '60', retries: 3, onUnknown: 'maybe' } as never;
    await expect(runOnce(options, nothing)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', facts: { problems: { length: 5 } } });
  });

  it('the empty scope is MISSING_SCOPE, and two scopes never see each other', async () => {
    const memory = memoryStore();
    await expect(runOnce({ store: memory, operation: 'o', key: 1, scope: '' }, nothing)).rejects.toMatchObject({ code: 'MISSING_SCOPE' });
    const options = { store: memory, operation: 'o', key: 1 };
    expect(await runOnce({ ...options, scope: 'a' }, () => 'a')).toBe('a');
    expect(await runOnce({ ...options, scope: 'b' }, () => 'b')).toBe('b');
    expect(await runOnce({ ...options }, () => 'none')).toBe('none');
    expect(await runOnce({ ...options, scope: 'a' }, () => 'x')).toBe('a');
  });

  it('a retention that is not longer than the lease is refused', async () => {
    await expect(runOnce({ store, operation: 'o', key: 1, leaseMs: 1_000, retentionMs: 1_000 }, nothing)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  });
});
