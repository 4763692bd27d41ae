import { describe, expect, it } from 'vitest';
import { memoryStore, type Run, storeLeases, withLease } from '../../../src/index.ts';
import { bench } from './engine.ts';

describe('what a function is handed can be taken apart', () => {
  it('a run: each of its functions, where it is guarded and where it is not', async () => {
    const b = bench();
    const seen: unknown[] = [];
    const work = async ({ keyFor, step, assertHeld, remainingMs }: Run<unknown>): Promise<unknown> => {
      assertHeld();
      seen.push([keyFor('charge'), remainingMs() > 0]);
      return step('charge', ({ key }) => key);
    };
    const guarded = await b.run(work);
    b.plan.create = () => 'unavailable';
    const unguarded = await b.run(work, { onStoreDown: 'run' });
    expect(seen[0]).toEqual(seen[1]);
    expect(unguarded).toMatchObject({ value: (guarded as { value: unknown }).value });
  });

  it('a run: its commit', async () => {
    const b = bench();
    let sent = 0;
    const result = await b.run(async ({ commit }) => {
      await commit('done', async ({ id, record, version, store }) => {
        sent += 1;
        return version === undefined ? store.create(id, record) : store.replace(id, record, version);
      });
    });
    expect([sent, result]).toEqual([1, expect.objectContaining({ value: 'done' })]);
  });

  it('a lease', async () => {
    const result = await withLease(storeLeases(memoryStore()), 'nightly', {}, async ({ assertHeld, remainingMs, renew, release }) => {
      assertHeld(1);
      await renew();
      const left = remainingMs();
      return [left > 0, await release(), remainingMs()];
    });
    expect(result).toMatchObject({ value: [true, 'released', 0] });
  });
});
