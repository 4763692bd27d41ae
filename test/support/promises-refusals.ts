import { describe, expect, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { type RunOnceOptions, runOnce } from '../../src/index.ts';
import type { Promised } from './promises.ts';
import { held, runningRecord } from './promises-case.ts';

const KEYS: readonly (readonly [string, unknown, string])[] = [
  ['undefined', undefined, 'MISSING_KEY'],
  ['null', null, 'MISSING_KEY'],
  ['an empty string', '', 'MISSING_KEY'],
  ['an empty list', [], 'MISSING_KEY'],
  ['an empty part', ['a', ''], 'MISSING_KEY'],
  ['an object', {}, 'INVALID_OPTIONS'],
  ['NaN', Number.NaN, 'INVALID_OPTIONS'],
  ['an unsafe number', 2 ** 60, 'INVALID_OPTIONS'],
  ['a lone surrogate', '\uD800', 'INVALID_OPTIONS'],
];

const OPTIONS: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ['a misspelt option', { leaseMS: 1_000 }, 'INVALID_OPTIONS'],
  ['a lease below the least', { leaseMs: 1 }, 'INVALID_OPTIONS'],
  ['a retention that is not longer than the lease', { leaseMs: 1_000, retentionMs: 1_000 }, 'INVALID_OPTIONS'],
  ['an unknown policy', { onUnknown: 'perhaps' }, 'INVALID_OPTIONS'],
  ['an empty scope', { scope: '' }, 'MISSING_SCOPE'],
  ['an input without a fingerprint', { input: () => 1 }, 'INVALID_OPTIONS'],
];

const forbidden = (): never => {
  throw new Error('the work ran');
};

export function refusalPromises({ fresh, subject, remote }: Promised): void {
  describe('refusals', () => {
    it.concurrent.each(KEYS)('I8 a key that is %s is refused before anything is sent or run', async (_, key, code) => {
      const { run, store } = fresh();
      await expect(run(forbidden, { key } as never)).rejects.toMatchObject({ code });
      expect(store.calls).toHaveLength(0);
    });

    it.concurrent.each(OPTIONS)('I8 %s is refused before anything is sent or run', async (_, options, code) => {
      const { run, store } = fresh();
      await expect(run(forbidden, options as never)).rejects.toMatchObject({ code });
      expect(store.calls).toHaveLength(0);
    });

    it.concurrent('I9 the same key with another input is refused, while running and after; the order of properties is no other input', async () => {
      const { run } = fresh();
      const first = held<number>();
      const running = run(first.work, { input: { a: 1, b: 2 } });
      await first.started;
      expect(await run(forbidden, { input: { a: 2 } })).toEqual({ kind: 'key-reused' });
      expect(await run(forbidden, { input: { b: 2, a: 1 } })).toMatchObject({ kind: 'in-flight' });
      first.end(1);
      await running;
      expect(await run(forbidden, { input: { a: 2 } })).toEqual({ kind: 'key-reused' });
      expect(await run(forbidden, { input: { b: 2, a: 1 } })).toMatchObject({ value: 1, replayed: true });
    });

    it.concurrent('I9 a released record still knows its input', async () => {
      const { run } = fresh();
      await expect(run(() => Promise.reject(new Error('no')), { input: 1 })).rejects.toThrow('no');
      expect(await run(forbidden, { input: 2 })).toEqual({ kind: 'key-reused' });
      expect(await run(() => 'again', { input: 1 })).toMatchObject({ value: 'again', attempt: 2 });
    });

    it.concurrent('I9 work that changes its input changes nothing', async () => {
      const { run } = fresh();
      const input = { a: 1 };
      await run(
        () => {
          input.a = 2;
        },
        { input },
      );
      expect(await run(forbidden, { input: { a: 1 } })).toMatchObject({ replayed: true });
    });

    it.concurrent('I8 a record of a newer version is left alone: nothing runs, nothing is lost', async () => {
      const { run, seed, stands, direct, id } = fresh();
      await seed({ schema: 2, leaseMs: 0 });
      await expect(run(forbidden)).rejects.toMatchObject({ code: 'RECORD_TOO_NEW', retryable: false });
      await expect(stands()).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
      // Still there: what is present cannot be created.
      await expect(direct.create(id, runningRecord(direct))).rejects.toMatchObject({ code: 'RECORD_TOO_NEW' });
    });

    if (!remote) return;

    it.concurrent('I8 a store that is down is STORE_UNAVAILABLE, and nothing runs', async () => {
      const store = theOther(subject().nowhere);
      const options: RunOnceOptions<string> = { store, operation: 'test/down', key: 1 };
      await expect(runOnce(options, forbidden)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(await runOnce({ ...options, onStoreDown: 'run' }, (run) => String(run.token))).toBe('undefined');
    });

    it.concurrent('I8 a missing table is STORE_MISCONFIGURED, is not retryable, and nothing runs', async () => {
      const store = theOther(subject().missingTable);
      const options: RunOnceOptions<string> = { store, operation: 'test/missing', key: 1, onStoreDown: 'run' };
      await expect(runOnce(options, forbidden)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
    });
  });
}

function theOther(make: (() => RecordStore) | undefined): RecordStore {
  if (make === undefined) throw new Error('a store on a network has one');
  return make();
}
