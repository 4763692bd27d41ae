import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { packed, unpacked } from '../../../src/core/pack.ts';
import type { Whole } from '../../../src/core/record.ts';
import { aesSeal, memoryStore, PermanentError, type RunOnceOptions, resolveRun, runOnce, tryRunOnce } from '../../../src/index.ts';

const rows = Array.from({ length: 400 }, (_, n) => ({ id: `order ${n}`, cents: n * 100, at: '2026-03-01T00:00:00.000Z', tags: ['a', 'b'] }));
const value = (json: unknown): Whole => ({ kind: 'value', value: { json } });
const bytes = (outcome: unknown): number => JSON.stringify(outcome).length;

describe('large outcomes', () => {
  it('are kept compressed, and come back as they were', async () => {
    const outcome = packed(value(rows));
    expect(outcome.kind).toBe('packed');
    expect(bytes(outcome)).toBeLessThan(bytes(value(rows)) / 5);
    expect(unpacked(outcome)).toEqual(value(rows));
  });

  it('small ones, and what does not get smaller, stay as they are', () => {
    const small = value('x'.repeat(4_000));
    const random = value(randomBytes(10_000).toString('base64'));
    expect(packed(small)).toBe(small);
    expect(packed(random)).toBe(random);
  });

  it('what somebody has changed is told, and not taken for another value', () => {
    const outcome = packed(value(rows)) as Extract<Whole, { kind: 'packed' }>;
    for (const wrong of ['', 'AAAA', outcome.packed.slice(0, 500)]) {
      expect(() => unpacked({ kind: 'packed', packed: wrong })).toThrowError(expect.objectContaining({ code: 'STORE_MISCONFIGURED' }));
    }
  });

  it.each([
    ['plain', undefined],
    ['sealed', aesSeal({ keys: { k: Buffer.alloc(32, 7) }, current: 'k' })],
  ])('values, steps, errors and words of a person, %s: replayed as they were given', async (_, seal) => {
    const store = memoryStore();
    const options = (key: string): RunOnceOptions<unknown> => ({ store, operation: 'o', key, ...(seal && { seal }) });
    const twice = async (key: string, work: Parameters<typeof tryRunOnce<unknown>>[1]) => {
      await tryRunOnce(options(key), work);
      return tryRunOnce(options(key), () => 'again');
    };
    expect(await twice('value', () => rows)).toMatchObject({ value: rows, replayed: true });
    const declined = new PermanentError('declined', { data: rows });
    const throws = (): never => {
      throw declined;
    };
    expect(await twice('error', throws)).toMatchObject({ kind: 'failed', error: { message: 'declined', data: rows } });
    let attempts = 0;
    const stepped = () =>
      runOnce(options('step'), async (run) => {
        const got = await run.step('load', () => rows);
        if (++attempts === 1) throw new Error('crash');
        return got;
      });
    await expect(stepped()).rejects.toThrow('crash');
    expect(await stepped()).toEqual(rows);
    await tryRunOnce({ ...options('person'), onUnknown: 'block' }, () => {
      throw new Error('time-out');
    }).catch(() => {});
    await resolveRun({ store, operation: 'o', key: 'person', ...(seal && { seal }) }, { done: rows });
    expect(await tryRunOnce(options('person'), () => 'again')).toMatchObject({ value: rows, resolved: true });
    const stored: number[] = [];
    for await (const { record } of store.list({})) stored.push(bytes(record));
    expect(Math.max(...stored)).toBeLessThan(bytes(rows) / 3);
  });

  it('reads what earlier versions packed (golden)', () => {
    const golden: Whole = { kind: 'packed', packed: 'q1bKzsxLUbJSKkvMKU1V0oHSVtVKWcX5eSA6EySbnBFvqFRbWwsA' };
    expect(unpacked(golden)).toEqual(value({ id: 'ch_1' }));
  });
});
