import { describe, expect, it } from 'vitest';
import { memoryStore, type RecordStore, runOnce } from '../../../src/index.ts';

const lossy = (): RecordStore => {
  const store = memoryStore();
  return { ...store, limits: { ...store.limits, losesOnFailover: true } };
};

describe('a store that can lose a record when another server takes over', () => {
  it("refuses onUnknown: 'block', which promises that nothing starts again, before anything runs", async () => {
    let runs = 0;
    const refused = runOnce({ store: lossy(), operation: 'payments/charge', key: 1, onUnknown: 'block' }, () => ++runs);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('lose') });
    expect(runs).toBe(0);
  });

  it("refuses a step with mode: 'atMostOnce', whose mark can be lost, and nothing of it is run", async () => {
    let runs = 0;
    const refused = runOnce({ store: lossy(), operation: 'orders/ship', key: 1 }, (run) => run.step('ship', () => ++runs, { mode: 'atMostOnce' }));
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('atMostOnce') });
    expect(runs).toBe(0);
    expect(await runOnce({ store: lossy(), operation: 'orders/ship', key: 1 }, (run) => run.step('ship', () => ++runs))).toBe(1);
  });

  it("takes 'retry' and a function", async () => {
    const store = lossy();
    expect(await runOnce({ store, operation: 'a', key: 1 }, () => 1)).toBe(1);
    expect(await runOnce({ store, operation: 'b', key: 1, onUnknown: () => 'not-done' }, () => 2)).toBe(2);
  });
});
