import { describe, expect, it } from 'vitest';
import { forgetRun, PermanentError, type RunOnceOptions, resolveRun, tryRunOnce } from '../../../src/index.ts';
import { bench } from './engine.ts';

const local = { localReplay: { maxEntries: 2 } };

describe('localReplay', () => {
  it('I11 what this process has seen is replayed without a request: an own outcome, a replay, a remembered error', async () => {
    const b = bench({ ...local, retentionMs: 3_600_000 });
    await b.run(() => ({ id: 'ch_1' }));
    const before = b.store.calls.length;
    const first = await b.run(() => 'again');
    const second = await b.run(() => 'again');
    expect([first, second]).toMatchObject([
      { value: { id: 'ch_1' }, replayed: true, attempt: 1 },
      { value: { id: 'ch_1' }, replayed: true },
    ]);
    expect(b.store.calls.length).toBe(before);
    // Each caller gets a copy of its own.
    expect((first as { value?: unknown }).value).not.toBe((second as { value?: unknown }).value);

    const declined = new PermanentError('declined', { code: 'card' });
    await b.run(
      () => {
        throw declined;
      },
      { key: 'error' },
    );
    const asked = b.store.calls.length;
    expect(await b.run(() => 1, { key: 'error' })).toMatchObject({ kind: 'failed', replayed: true, error: { message: 'declined', code: 'card' } });
    expect(b.store.calls.length).toBe(asked);
  });

  it('I9 another input is for the store to judge', async () => {
    const b = bench(local);
    await b.run(() => 1, { input: 'a' });
    expect(await b.run(() => 2, { input: 'b' })).toMatchObject({ kind: 'key-reused' });
    expect(await b.run(() => 2, { input: 'a' })).toMatchObject({ value: 1 });
  });

  it('ends with the retention, or with maxAgeMs where that is shorter', async () => {
    for (const options of [
      { retentionMs: 5_000, localReplay: { maxEntries: 1 } },
      { retentionMs: 50_000, localReplay: { maxEntries: 1, maxAgeMs: 5_000 } },
    ]) {
      const b = bench(options);
      await b.run(() => 1);
      await b.clock.advance(4_999);
      const before = b.store.calls.length;
      expect(await b.run(() => 2)).toMatchObject({ value: 1 });
      expect(b.store.calls.length).toBe(before);
      await b.clock.advance(2);
      await b.run(() => 2);
      expect(b.store.calls.length).toBeGreaterThan(before);
    }
  });

  it('a replay that came from the store is kept for what is left of its retention', async () => {
    const b = bench({ retentionMs: 10_000 });
    await b.run(() => 1);
    await b.clock.advance(8_000);
    expect(await b.run(() => 2, local)).toMatchObject({ value: 1 });
    await b.clock.advance(2_001);
    expect(await b.run(() => 2, local)).toMatchObject({ value: 2, replayed: false });
  });

  it('keeps maxEntries, those asked for last', async () => {
    const b = bench(local);
    for (const key of ['a', 'b']) await b.run(() => key, { key });
    await b.run(() => 'again', { key: 'a' });
    await b.run(() => 'c', { key: 'c' });
    const requests = async (key: string): Promise<number> => {
      const before = b.store.calls.length;
      await b.run(() => 'again', { key });
      return b.store.calls.length - before;
    };
    expect(await requests('a')).toBe(0);
    expect(await requests('c')).toBe(0);
    expect(await requests('b')).toBeGreaterThan(0);
  });

  it("a person's word counts at once in this process", async () => {
    const b = bench(local);
    const run = { store: b.store, operation: 'test/op', key: 'k' };
    await b.run(() => 1);
    expect(await forgetRun(run)).toEqual({ kind: 'written' });
    expect(await b.run(() => 2)).toMatchObject({ value: 2, replayed: false });
    const blocked = bench({ ...local, onUnknown: 'block' });
    await blocked
      .run(() => {
        throw new Error('time-out');
      })
      .catch(() => {});
    await resolveRun({ ...run, store: blocked.store }, { done: 7 });
    expect(await blocked.run(() => 2)).toMatchObject({ value: 7 });
  });

  it.each([[{}], [{ maxEntries: 0 }], [{ maxEntries: 10, entries: 1 }], [true], [10]])('%j is refused', async (localReplay) => {
    const b = bench();
    const options = { store: b.store, operation: 'o', key: 1, localReplay } as unknown as RunOnceOptions<number>;
    await expect(tryRunOnce(options, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
