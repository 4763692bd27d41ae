import { describe, expect, it } from 'vitest';
import { type Found, memoryStore, runOnce, storeLeases, sweep } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { bench } from './engine.ts';

const crash = new Error('crash');
const fail = (): never => {
  throw crash;
};

/** A run that lapsed, one that is blocked, one that is alive, one that is done, one that failed; and leases. */
async function stage() {
  const b = bench({ renew: 'none', leaseMs: 1_000 });
  void b.run(() => new Promise(() => {}), { key: 'lapsed' }).catch(() => {});
  await b.clock.settle();
  await b.run(fail, { key: 'blocked', onUnknown: 'block' }).catch(() => {});
  await b.run(() => 1, { key: 'blocked', onUnknown: 'block' });
  await b.run(() => 1, { key: 'done' });
  await b.run(fail, { key: 'failed' }).catch(() => {});
  await storeLeases(b.store).acquire('nightly', { owner: 'o', leaseMs: 1_000 });
  await b.clock.advance(100_000);
  void b.run(() => new Promise(() => {}), { key: 'alive', leaseMs: 600_000 }).catch(() => {});
  await b.clock.settle();
  return b;
}

describe('sweep', () => {
  it('I10 shows what has no outcome and what waits for a person, and nothing else', async () => {
    const b = await stage();
    const found: Found[] = [];
    const result = await sweep({ store: b.store }, (one) => void found.push(one));
    expect(result).toEqual({ lapsed: 1, blocked: 1, settled: 0, failures: [], more: false });
    expect(found).toMatchObject([
      { kind: 'lapsed', label: 'lapsed', operation: 'test/op', attempt: 1, ageMs: 100_000, steps: [] },
      { kind: 'blocked', label: 'blocked', why: 'unknown', attempt: 1 },
    ]);
  });

  it("carries out what is answered: 'not-done' lets it run again, { done } is the outcome, 'block' keeps it for a person", async () => {
    const b = await stage();
    const answers = { lapsed: 'not-done', blocked: { done: 'receipt' } } as const;
    expect(await sweep({ store: b.store, by: 'sweeper' }, ({ kind }) => answers[kind])).toMatchObject({ settled: 2, failures: [] });
    expect(await b.run(() => 'ran', { key: 'lapsed' })).toMatchObject({ value: 'ran', replayed: false });
    expect(await b.run(() => 'ran', { key: 'blocked' })).toMatchObject({ value: 'receipt', replayed: true, resolved: true });

    const c = await stage();
    expect(await sweep({ store: c.store }, ({ kind }) => (kind === 'lapsed' ? 'block' : undefined))).toMatchObject({ settled: 1 });
    expect(await c.run(() => 'ran', { key: 'lapsed' })).toMatchObject({ kind: 'blocked', why: 'unknown' });
  });

  it('I4 never touches one that was claimed while the callback was looking', async () => {
    for (const answer of ['not-done', 'block', { done: 'receipt' }] as const) {
      const b = await stage();
      let claimed: Promise<unknown> | undefined;
      const end: { with?: (value: string) => void } = {};
      const result = await sweep({ store: b.store, blocked: false }, async () => {
        claimed = b.run(
          () =>
            new Promise<string>((resolve) => {
              end.with = resolve;
            }),
          { key: 'lapsed' },
        );
        await b.clock.settle();
        return answer;
      });
      expect(result).toMatchObject({ lapsed: 1, settled: 0, failures: [] });
      end.with?.('its own');
      expect(await claimed).toMatchObject({ value: 'its own', saved: true });
    }
  });

  it('a callback that fails, and an answer that is none, are told; the others are shown all the same', async () => {
    const b = await stage();
    const result = await sweep({ store: b.store }, ({ kind }) => (kind === 'lapsed' ? fail() : ('perhaps' as never)));
    expect(result).toMatchObject({ lapsed: 1, blocked: 1, settled: 0 });
    expect(result.failures.map(({ error }) => error)).toMatchObject([crash, { code: 'INVALID_OPTIONS' }]);
  });

  it('ends with its limit, its time, and its signal, and says that there is more', async () => {
    const b = await stage();
    expect(await sweep({ store: b.store, limit: 1 }, () => undefined)).toMatchObject({ lapsed: 1, blocked: 0, more: true });
    expect(await sweep({ store: b.store, remainingMs: () => 500 }, () => undefined)).toMatchObject({ lapsed: 0, more: true });
    expect(await sweep({ store: b.store, signal: AbortSignal.abort() }, () => undefined)).toMatchObject({ lapsed: 0, more: true });
    expect(await sweep({ store: b.store, olderThanMs: 200_000 }, () => undefined)).toMatchObject({ lapsed: 0, blocked: 0, more: false });
    expect(await sweep({ store: b.store, operation: 'another' }, () => undefined)).toMatchObject({ lapsed: 0, blocked: 0 });
  });

  it('a word of a person, or of a sweeper, is kept with who, why and when', async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    await runOnce({ store, operation: 'o', key: 1, onUnknown: 'block' }, fail).catch(() => {});
    await clock.advance(100_000);
    await sweep({ store, by: 'sweeper', why: 'the provider has no charge' }, () => 'not-done');
    const records: unknown[] = [];
    for await (const { record } of store.list({ operation: 'o' })) records.push(record);
    expect(records[0]).toMatchObject({
      state: 'released',
      word: { did: 'resolve', by: 'sweeper', why: 'the provider has no charge', atMs: clock.nowMs() },
    });
  });

  it.each([[{}], [{ store: {} }], [{ limit: 0 }], [{ olderThan: 5 }], [{ by: 7 }]])('%j is refused', async (wrong) => {
    const b = bench();
    const store = 'store' in wrong || Object.keys(wrong).length === 0 ? {} : { store: b.store };
    await expect(sweep({ ...store, ...wrong } as never, () => undefined)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
