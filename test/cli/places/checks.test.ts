/**
 * What the doctor sees where a store does not do what it promises.
 *
 * @module
 */
import { describe, expect, it } from 'vitest';
import { checkNode } from '../../../src/cli/places/check-machine.ts';
import { checkClock, checkKeeping, checkLeases, checkRecords } from '../../../src/cli/places/check-store.ts';
import { storeUnavailable } from '../../../src/core/errors.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';

const changed = (change: (store: RecordStore) => Partial<RecordStore>): RecordStore => {
  const store = memoryStore();
  return { ...store, ...change(store) };
};
const count = async (store: RecordStore): Promise<number> => {
  let found = 0;
  for await (const _ of store.list({})) found += 1;
  return found;
};

describe('the doctor', () => {
  it('finds nothing wrong with a store that keeps its word', async () => {
    const store = memoryStore();
    expect(await checkRecords(store)).toMatchObject({ exitCode: 0 });
    expect(await count(store)).toBe(0);
    expect(await checkLeases(storeLeases(store))).toMatchObject({ exitCode: 0 });
  });

  it('I1 sees a store that makes a record twice', async () => {
    const store = changed(({ create }) => ({
      create: async (id, record) => ((await create(id, record)).ok ? { ok: true, version: record.revision } : { ok: true, version: record.revision }),
    }));
    expect(await checkRecords(store)).toMatchObject({ exitCode: 78, check: { ok: false, detail: expect.stringContaining('second time') } });
    expect(await count(store)).toBe(0);
  });

  it('I2 sees a store that writes to a version that is over', async () => {
    const store = changed(({ replace, read }) => ({
      replace: async (id, record) => replace(id, record, (await read(id))?.version ?? ''),
    }));
    expect(await checkRecords(store)).toMatchObject({ exitCode: 78, check: { detail: expect.stringContaining('version that is over') } });
    expect(await count(store)).toBe(0);
  });

  it('leaves nothing behind where a write fails in the middle', async () => {
    const store = changed(() => ({ replace: () => Promise.reject(storeUnavailable('test', undefined)) }));
    expect(await checkRecords(store)).toMatchObject({ exitCode: 69 });
    expect(await count(store)).toBe(0);
  });

  it('I1 sees a lease that is given to two', async () => {
    const leases = storeLeases(memoryStore());
    const generous = { ...leases, name: 'generous', limits: leases.limits };
    const owners = ['acquire', 'renew', 'release'] as const;
    for (const method of owners) Object.assign(generous, { [method]: leases[method].bind(leases) });
    const acquire = async () => ({ kind: 'acquired', token: 1 }) as const;
    expect(await checkLeases({ ...generous, acquire })).toMatchObject({ exitCode: 78, check: { detail: expect.stringContaining('two at once') } });
  });

  it('says how far the clocks are apart', () => {
    const late = changed(({ clock }) => ({ clock: { ...clock, nowMs: () => Date.now() - 60_000 } }));
    expect(checkClock(late)).toMatchObject({
      exitCode: 78,
      check: { detail: expect.stringMatching(/60 s .*\(ahead\)/), remedy: expect.stringContaining('NTP') },
    });
    expect(checkClock(memoryStore())).toMatchObject({ exitCode: 0 });
  });

  it('says what a store that loses records in a failover is not used for', async () => {
    const loses = changed(({ limits }) => ({ limits: { ...limits, losesOnFailover: true } }));
    expect(await checkKeeping(loses)).toMatchObject({ exitCode: 78, check: { remedy: expect.stringContaining('#accept-failover-loss') } });
  });

  it.each([
    ['22.12.0', 78],
    ['22.13.0', 0],
    ['24.0.0', 0],
    ['20.19.5', 78],
  ])('knows whether Node %s is new enough', (version, exitCode) => {
    expect(checkNode(version)).toMatchObject({ exitCode });
  });
});
