import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import type { RecordStore, Stored, WriteResult } from '../../../src/core/ports.ts';
import { FOREVER_MS, type StoredRecord } from '../../../src/core/record.ts';
import { leaseRowId, storeLeases } from '../../../src/core/store-leases.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { type FaultPlan, faultyStore, virtualClock } from '../../../src/testing/index.ts';

const LEASE = 3_000;
const UNCERTAIN = 100;
const request = (owner: string, more: object = {}) => ({ owner, leaseMs: LEASE, ...more });
const holder = (owner: string, more: object = {}) => ({ owner, token: 0, leaseMs: LEASE, ...more });

function bench(uncertaintyMs = 0) {
  const clock = virtualClock();
  const plan: FaultPlan = { timers: clock.timers };
  const memory = memoryStore({ clock });
  const store = faultyStore({ ...memory, clock: { ...memory.clock, uncertaintyMs } }, plan);
  const leases = storeLeases(store);
  /** What `body` asks of the store. */
  const costs = async (body: () => Promise<unknown>): Promise<string> => {
    const before = store.calls.length;
    await body();
    return store.calls
      .slice(before)
      .map(({ operation }) => operation)
      .join(' ');
  };
  const row = async (): Promise<StoredRecord> => (await store.read(leaseRowId('job')))?.record as StoredRecord;
  return { clock, plan, store, leases, costs, row };
}

/** Its rows change under each write, or do not fit. */
function contrary(result: (standing: Stored | undefined) => WriteResult) {
  const { store } = bench();
  let writes = 0;
  const write = async (standing: Stored | undefined): Promise<WriteResult> => {
    writes += 1;
    if (writes > 60) throw new Error('asked for ever');
    return result(standing);
  };
  const other: RecordStore = { ...store, create: async (id) => write(await store.read(id)), replace: async (id) => write(await store.read(id)) };
  return { store, leases: storeLeases(other), writes: () => writes };
}
const changed = (current: Stored | undefined): WriteResult => ({ ok: false, reason: 'conflict', current });

describe('a lease as a row', () => {
  it('I5 lies where it always lay, and says what it is', async () => {
    const { leases, row, clock, costs } = bench();
    expect(leaseRowId('job')).toBe(recordId('rerunsafe/lease', [], ['job']));
    expect(await costs(() => leases.acquire('job', request('a')))).toBe('read create');
    const first = await row();
    expect(first).toStrictEqual({
      schema: 1,
      operation: 'rerunsafe/lease',
      scope: '',
      label: 'job',
      state: 'running',
      owner: 'a',
      revision: expect.any(String),
      token: clock.nowMs(),
      attempt: 1,
      leaseMs: LEASE,
      retentionMs: FOREVER_MS,
      createdAtMs: clock.nowMs(),
      writtenAtMs: clock.nowMs(),
    });
    await leases.release('job', holder('a', { slotDone: 5 }));
    await clock.advance(10);
    await leases.acquire('job', request('b', { label: 'host' }));
    expect(await row()).toMatchObject({ owner: 'b', attempt: 2, createdAtMs: first.createdAtMs, slot: 5, holder: 'host', token: clock.nowMs() });
  });

  it('I5 the token is the one that the store gave', async () => {
    const { store } = bench();
    const raising = storeLeases({ ...store, create: async (...given) => ({ ...(await store.create(...given)), token: 99 }) as WriteResult });
    expect(await raising.acquire('job', request('a'))).toStrictEqual({ kind: 'acquired', token: 99 });
  });

  it.each([[undefined], [{}], [{ read() {}, create() {} }]])('%j is no store', (store) => {
    expect(() => storeLeases(store as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/^storeLeases: store /) }),
    );
  });

  it('sets up what the store sets up, where it does', async () => {
    const { store } = bench();
    let times = 0;
    await storeLeases({ ...store, setUp: async () => void times++ }).setUp();
    const { setUp: _, ...without } = store;
    await storeLeases(without).setUp();
    expect(times).toBe(1);
  });

  it('I12 whoever asked has gone: what a slow look brings up is not taken for him', async () => {
    const { leases, plan, store } = bench();
    const caller = new AbortController();
    plan.after = () => caller.abort(new Error('gone'));
    await expect(leases.acquire('job', request('a'), { signal: caller.signal })).rejects.toThrow('gone');
    expect(store.counts.create).toBe(0);
    expect(await leases.acquire('job', request('a'), {})).toMatchObject({ kind: 'acquired' });
  });

  it('I10 under contention it asks fifty times, not for ever', async () => {
    const { store, leases, writes } = contrary(changed);
    await storeLeases(store).acquire('job', request('a'));
    await storeLeases(store).release('job', holder('a'));
    const busy = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the lease "job" changed under each of 50 tries') };
    await expect(leases.acquire('job', request('b'))).rejects.toMatchObject(busy);
    expect(writes()).toBe(50);
    await storeLeases(store).acquire('job', request('a'));
    const own = contrary(changed);
    await storeLeases(own.store).acquire('job', request('a'));
    await expect(own.leases.renew('job', holder('a'))).rejects.toMatchObject(busy);
    expect(own.writes()).toBe(50);
    const broken = contrary(changed);
    await storeLeases(broken.store).acquire('job', request('a'));
    await expect(broken.leases.break('job')).rejects.toMatchObject(busy);
    expect(broken.writes()).toBe(50);
  });

  it('I8 a row that does not fit is said', async () => {
    const { leases } = contrary(() => ({ ok: false, reason: 'too-large' }));
    await expect(leases.acquire('job', request('a'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('a lease row is too large for the store'),
    });
  });
});

describe("a holder's requests", () => {
  it('I11 a renewal and a release cost one request each, since the row is known', async () => {
    const { leases, costs } = bench();
    await leases.acquire('job', request('a'));
    expect(await costs(() => leases.renew('job', holder('a')))).toBe('replace');
    expect(await costs(() => leases.renew('job', holder('a')))).toBe('replace');
    expect(await costs(() => leases.release('job', holder('a')))).toBe('replace');
    expect(await costs(() => leases.release('job', holder('a'))), 'and is forgotten then').toBe('read');
  });

  it('I11 one that was found again by its name is known too; what somebody else holds is not', async () => {
    const { store, leases, costs } = bench();
    const elsewhere = storeLeases(store);
    await elsewhere.acquire('job', request('a'));
    expect(await leases.acquire('job', request('b'))).toMatchObject({ kind: 'held' });
    expect(await costs(() => leases.renew('job', holder('a')))).toBe('read replace');
    const third = storeLeases(store);
    await third.acquire('job', request('a'));
    expect(await costs(() => third.renew('job', holder('a')))).toBe('replace');
  });

  it.each(['renew', 'release'] as const)('I7 I11 a %s that was sent twice meets itself: it had succeeded, and the row is known', async (move) => {
    const { leases, plan, store, costs } = bench();
    await leases.acquire('job', request('a'));
    plan.replace = { [store.counts.replace + 1]: 'retried-lost-answer' };
    expect(await costs(async () => expect(await leases[move]('job', holder('a'))).toBe(`${move}${move === 'renew' ? 'ed' : 'd'}`))).toBe('replace');
    if (move === 'renew') expect(await costs(() => leases.renew('job', holder('a')))).toBe('replace');
  });

  it('I7 a release whose answer was lost, sent again: nothing is written a second time', async () => {
    const { leases, plan, store, costs } = bench();
    await leases.acquire('job', request('a'));
    plan.replace = { [store.counts.replace + 1]: 'lost-answer' };
    await expect(leases.release('job', holder('a', { holdMs: 500 }))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(await costs(async () => expect(await leases.release('job', holder('a'))).toBe('released'))).toBe('replace');
    expect(await leases.read('job')).toMatchObject({ held: true });
  });

  it('I4 I6 one that ran out is lost, though nobody has taken it; the store is not asked, and then not known', async () => {
    const { leases, clock, costs, row } = bench(UNCERTAIN);
    await leases.acquire('job', request('a'));
    await clock.advance(LEASE);
    expect(await costs(async () => expect(await leases.renew('job', holder('a'))).toBe('renewed'))).toBe('replace');
    await clock.advance(LEASE + 1);
    expect(await costs(async () => expect(await leases.renew('job', holder('a'))).toBe('lost'))).toBe('');
    expect(await costs(async () => expect(await leases.renew('job', holder('a'))).toBe('lost'))).toBe('read');
    expect(await leases.release('job', holder('a')), 'and may still be given back').toBe('released');
    expect((await row()).state).toBe('released');
  });

  it('I4 one that was released is not renewed', async () => {
    const { store, leases } = bench();
    await leases.acquire('job', request('a'));
    await leases.release('job', holder('a', { holdMs: 10_000 }));
    expect(await storeLeases(store).renew('job', holder('a'))).toBe('lost');
  });

  it('I4 what somebody else has taken, or what is gone, is lost, and left alone', async () => {
    const { store, leases, clock, costs, row } = bench();
    await leases.acquire('job', request('a'));
    await storeLeases(store).break('job');
    const other = storeLeases(store);
    await other.acquire('job', request('b'));
    const { revision } = await row();
    expect(await leases.renew('job', holder('a'))).toBe('lost');
    expect(await costs(async () => expect(await leases.release('job', holder('a'))).toBe('lost'))).toBe('read');
    expect(await leases.renew('gone', holder('a'))).toBe('lost');
    expect(await leases.release('gone', holder('a'))).toBe('lost');
    expect((await row()).revision).toBe(revision);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I4 a row that is gone by the time of a renewal is not made anew', async () => {
    const { store, leases, costs } = bench();
    await leases.acquire('job', request('a'));
    const standing = (await store.read(leaseRowId('job'))) as Stored;
    await store.delete(leaseRowId('job'), standing.version);
    expect(await costs(async () => expect(await leases.renew('job', holder('a'))).toBe('lost'))).toBe('replace');
  });

  it('what is not known is not handed to the store, not even as undefined', async () => {
    const { store, leases } = bench();
    await leases.acquire('job', request('a'));
    await leases.release('job', holder('a'));
    for (const { record } of store.calls) for (const name of ['holder', 'slot']) expect(Object.keys(record ?? {})).not.toContain(name);
  });

  it('a renewal may ask for another length', async () => {
    const { leases, row } = bench();
    await leases.acquire('job', request('a'));
    await leases.renew('job', holder('a', { leaseMs: 9_000 }));
    expect((await row()).leaseMs).toBe(9_000);
  });

  it.each([
    [undefined, 5, 5],
    [4, 5, 5],
    [9, 5, 9],
    [9, undefined, 9],
    [undefined, undefined, undefined],
  ])('I1 slots: %s was done, and %s is: then %s is the last', async (before, done, last) => {
    const { leases, row } = bench();
    await leases.acquire('job', request('a'));
    await leases.release('job', holder('a', before === undefined ? {} : { slotDone: before }));
    await leases.acquire('job', request('b'));
    await leases.release('job', holder('b', done === undefined ? {} : { slotDone: done }));
    const { slot } = await row();
    expect(slot).toBe(last);
    expect('slot' in (await row())).toBe(last !== undefined);
  });

  it.each([
    [0.4, 1],
    [-5, 0],
    [0, 0],
  ])('a minimum hold of %d ms is %d ms', async (holdMs, leaseMs) => {
    const { leases, row } = bench();
    await leases.acquire('job', request('a'));
    await leases.release('job', holder('a', { holdMs }));
    expect((await row()).leaseMs).toBe(leaseMs);
  });
});

describe('looking at a lease, and breaking it', () => {
  it('I6 what is told of one that is held, runs out, is released, and is kept for a while', async () => {
    const { leases, clock } = bench(UNCERTAIN);
    const token = clock.nowMs();
    expect(await leases.read('job')).toBeUndefined();
    await leases.acquire('job', request('a', { label: 'host' }));
    await clock.advance(1_000);
    expect(await leases.read('job')).toStrictEqual({ held: true, token, owner: 'a', remainingMs: LEASE - 1_000, label: 'host' });
    await clock.advance(LEASE - 1_000 + UNCERTAIN);
    expect(await leases.read('job')).toStrictEqual({ held: true, token, owner: 'a', remainingMs: 0, label: 'host' });
    await clock.advance(1);
    expect(await leases.read('job')).toStrictEqual({ held: false, token, label: 'host' });
    await leases.acquire('job', request('b'));
    await leases.release('job', holder('b', { holdMs: 500, slotDone: 5 }));
    const next = token + LEASE + UNCERTAIN + 1;
    expect(await leases.read('job')).toStrictEqual({ held: true, token: next, remainingMs: 500, lastSlot: 5 });
    await clock.advance(500 + UNCERTAIN - 1);
    expect(await leases.read('job')).toMatchObject({ held: true, remainingMs: 0 });
    await clock.advance(1);
    expect(await leases.read('job')).toStrictEqual({ held: false, token: next, lastSlot: 5 });
    await leases.acquire('job', request('c'));
    await leases.release('job', holder('c'));
    expect(await leases.read('job')).toMatchObject({ held: false });
  });

  it('I4 I5 broken: free at once, under a token that is higher, whatever the clock says', async () => {
    const { leases, clock, row, store } = bench();
    await leases.break('job');
    expect(store.counts).toMatchObject({ create: 0, replace: 0 });
    await leases.acquire('job', request('a', { slot: 5 }));
    const before = await row();
    await leases.break('job');
    expect(await row()).toMatchObject({ state: 'released', leaseMs: 0, token: before.token + 1, owner: expect.not.stringMatching(/^a$/) });
    expect(await leases.renew('job', holder('a'))).toBe('lost');
    await clock.advance(1_000);
    await leases.break('job');
    expect(await row()).toMatchObject({ token: clock.nowMs() });
  });

  it('I5 one that is gone by the time it is written is broken', async () => {
    const { store, leases, writes } = contrary(() => changed(undefined));
    await storeLeases(store).acquire('job', request('a'));
    await leases.break('job');
    expect(writes()).toBe(1);
  });
});
