import { describe, expect, it } from 'vitest';
import { GUARD_RULES, guardFrom, splitOptions } from '../../../src/core/guard.ts';
import { isInteger } from '../../../src/core/options.ts';
import { memoryStore } from '../../../src/index.ts';

const store = memoryStore();
const operation = 'test/op';
const refusal = (make: () => unknown): unknown => {
  try {
    return make();
  } catch (error) {
    return error;
  }
};
const DAY_MS = 86_400_000;
const DEFAULTS = {
  store,
  operation,
  leaseMs: 60_000,
  retentionMs: DAY_MS,
  retention: { completed: DAY_MS, error: DAY_MS, released: DAY_MS },
  renew: 'auto',
  waitMs: 0,
  onUnknown: 'retry',
  onSaveFailed: 'return',
  maxAttempts: 100,
  onStoreDown: 'refuse',
  label: true,
};

describe('what nobody has chosen', () => {
  it('is as documented', () => {
    expect(guardFrom('what', { store, operation })).toStrictEqual(DEFAULTS);
  });

  it('a retention that is not chosen is longer than any lease', () => {
    expect(guardFrom('what', { store, operation, leaseMs: DAY_MS })).toMatchObject({ retentionMs: 2 * DAY_MS });
    expect(guardFrom('what', { store, operation, leaseMs: DAY_MS / 4 })).toMatchObject({ retentionMs: DAY_MS });
  });
});

describe('what was chosen', () => {
  it('is taken as it is', () => {
    const seal = { close: () => '', open: () => '' } as never;
    const chosen = {
      leaseMs: 100,
      renew: 'none',
      onUnknown: 'block',
      onSaveFailed: 'throw',
      maxAttempts: 3,
      onStoreDown: 'run',
      label: false,
      seal,
    } as const;
    const guard = guardFrom('what', { store, operation, ...chosen, retentionMs: { completed: 101, error: 300 }, onInFlight: { waitMs: 70 } });
    expect(guard).toMatchObject({ ...chosen, waitMs: 70, retentionMs: 101, retention: { completed: 101, error: 300 } });
    expect(guardFrom('what', { store, operation, onInFlight: 'refuse' }).waitMs).toBe(0);
  });

  it.each<[options: object, message: string]>([
    [{ store: undefined }, 'what: store is missing.'],
    [{ operation: undefined }, 'what: operation is missing.'],
    [{ retentionMs: 60_000 }, 'what: retentionMs (60000) must be longer than leaseMs (60000).'],
    [{ leaseMs: 500, retentionMs: { completed: 900, error: 400 } }, 'what: retentionMs (400) must be longer than leaseMs (500).'],
    [{ leaseMs: 500, retentionMs: { completed: 900, released: 500 } }, 'what: retentionMs (500) must be longer than leaseMs (500).'],
    [{ onInFlight: {} }, "what: onInFlight must be 'refuse', or needs waitMs."],
    [{ onInFlight: 7 }, "what: onInFlight must be 'refuse', or must be an object."],
    [{ localReplay: {} }, 'what: localReplay must be { maxEntries, maxAgeMs }, whole numbers above 0, maxEntries always.'],
  ])('or refused in words: %j', (options, message) => {
    expect(refusal(() => guardFrom('what', { store, operation, ...options } as never))).toMatchObject({ code: 'INVALID_OPTIONS', message });
  });

  it("I8 'block' is refused on a store that can lose the record it promises, and says what to do", () => {
    const loses = { ...store, name: 'replicas', limits: { ...store.limits, losesOnFailover: true } };
    expect(refusal(() => guardFrom('what', { store: loses, operation, onUnknown: 'block' }))).toMatchObject({
      code: 'INVALID_OPTIONS',
      message:
        'what: onUnknown: \'block\' promises that nothing starts a second time, and the store "replicas" can lose a record when another server takes over: use another store, or say that you accept the loss where the store is made.',
    });
    expect(guardFrom('what', { store: loses, operation }).onUnknown).toBe('retry');
    expect(guardFrom('what', { store, operation, onUnknown: 'block' }).onUnknown).toBe('block');
    const { limits: _, ...bare } = store;
    expect(guardFrom('what', { store: bare as never, operation, onUnknown: 'block' }).onUnknown).toBe('block');
  });

  it('a wrapper has rules of its own, and may need them', () => {
    const rules = { most: isInteger(1) };
    expect(guardFrom('what', { store, operation, most: 2 } as never, rules, ['most'])).toMatchObject({ most: 2 });
    expect(refusal(() => guardFrom('what', { store, operation }, rules, ['most']))).toMatchObject({ message: 'what: most is missing.' });
    expect(refusal(() => guardFrom('what', { store, operation, most: 0 } as never, rules))).toMatchObject({
      message: 'what: most must be a whole number, at least 1.',
    });
    expect(refusal(() => guardFrom('what', { store, operation, least: 0 } as never, rules))).toMatchObject({
      message: `what: least is not an option. The options are ${[...Object.keys(GUARD_RULES), 'most'].join(', ')}.`,
    });
  });
});

describe('the options of one call', () => {
  it('are told from those of its guard', () => {
    const call = { key: 1, scope: 2, input: 3, fingerprint: 'f' };
    expect(splitOptions('runOnce', { store, operation, ...call })).toStrictEqual({ guard: DEFAULTS, call });
    expect(splitOptions('runOnce', { store, operation, key: 1 }).call).toStrictEqual({
      key: 1,
      scope: undefined,
      input: undefined,
      fingerprint: undefined,
    });
  });

  it.each([
    [{ store: undefined }, 'runOnce: store is missing.'],
    [{ operation: undefined }, 'runOnce: operation is missing.'],
    [{ fingerprint: '' }, 'runOnce: fingerprint must be a string of 1 to 1000 characters, without control characters.'],
    [{ retentionMs: 1 }, 'runOnce: retentionMs (1) must be longer than leaseMs (60000).'],
    [{ codec: 7 }, expect.stringMatching(/^runOnce: codec must be/)],
  ])('or refused in words: %j', (options, message) => {
    expect(refusal(() => splitOptions('runOnce', { store, operation, key: 1, ...options } as never))).toMatchObject({ message });
  });
});
