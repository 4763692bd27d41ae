import { describe, expect, it } from 'vitest';
import type { RecordToWrite } from '../../../src/core/record.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { type FaultPlan, faultyStore, virtualClock } from '../../../src/testing/index.ts';

const record = (revision: string): RecordToWrite => ({
  schema: 1,
  operation: 'test',
  scope: '',
  state: 'running',
  owner: 'owner',
  revision,
  token: 1,
  attempt: 1,
  leaseMs: 1000,
  retentionMs: 2000,
  createdAtMs: 0,
});
const subject = (plan: FaultPlan) => {
  const inner = memoryStore();
  return { inner, store: faultyStore(inner, plan) };
};

describe('faulty store', () => {
  it('leaves undisturbed calls alone, and counts and logs them', async () => {
    const { store } = subject({});
    expect(await store.create('a', record('1'))).toEqual({ ok: true, version: '1' });
    expect(await store.replace('a', record('2'), '1')).toEqual({ ok: true, version: '2' });
    expect((await store.read('a'))?.record.revision).toBe('2');
    expect(await store.delete('a', '2')).toMatchObject({ ok: true });
    expect(store.counts).toEqual({ read: 1, create: 1, replace: 1, delete: 1, putPart: 0, readPart: 0 });
    expect(store.calls.map((call) => `${call.operation} ${call.n} ${call.id}`)).toEqual(['create 1 a', 'replace 1 a', 'read 1 a', 'delete 1 a']);
  });

  it('lost-answer is applied and in doubt; only the n-th call is hit', async () => {
    const { inner, store } = subject({ create: { 2: 'lost-answer' } });
    await store.create('a', record('1'));
    await expect(store.create('b', record('2'))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect((await inner.read('b'))?.record.revision).toBe('2');
    expect(store.calls[1]).toMatchObject({ fault: 'lost-answer', answer: { ok: true } });
    expect(await store.create('c', record('3'))).toMatchObject({ ok: true });
  });

  it('lost-request is in doubt and not applied', async () => {
    const { inner, store } = subject({ create: () => 'lost-request' });
    await expect(store.create('a', record('1'))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(await inner.read('a')).toBeUndefined();
  });

  it('unavailable is not applied and says so, and a read in doubt is only unavailable', async () => {
    const { inner, store } = subject({ create: { 1: 'unavailable' }, read: { 1: 'lost-answer' } });
    await expect(store.create('a', record('1'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(store.read('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await inner.read('a')).toBeUndefined();
  });

  it('retried-lost-answer is a conflict with the own record', async () => {
    const { store } = subject({ create: { 1: 'retried-lost-answer' }, replace: { 1: 'retried-lost-answer' }, delete: { 1: 'retried-lost-answer' } });
    expect(await store.create('a', record('1'))).toMatchObject({ ok: false, current: { record: { revision: '1' } } });
    expect(await store.replace('a', record('2'), '1')).toMatchObject({ ok: false, current: { record: { revision: '2' } } });
    expect(await store.delete('a', '2')).toEqual({ ok: false, reason: 'conflict', current: undefined });
  });

  it('hang waits for the signal; hang-applied was applied all the same', async () => {
    const { inner, store } = subject({ create: { 1: 'hang', 2: 'hang-applied' } });
    for (const id of ['a', 'b']) {
      const leaving = new AbortController();
      const waiting = store.create(id, record(id), { signal: leaving.signal });
      expect(await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, 'hangs'))])).toBe('hangs');
      leaving.abort();
      await expect(waiting).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    }
    expect(await inner.read('a')).toBeUndefined();
    expect((await inner.read('b'))?.record.revision).toBe('b');
  });

  it('delays, and late copies of a request, pass in the time of the given timers', async () => {
    const clock = virtualClock();
    const { inner, store } = subject({ timers: clock.timers, create: { 1: { delayMs: 100 }, 2: { landsAfterMs: 100 } } });
    const waiting = store.create('a', record('1'));
    await clock.advance(99);
    expect(await inner.read('a')).toBeUndefined();
    await clock.advance(1);
    expect(await waiting).toMatchObject({ ok: true });
    await expect(store.create('b', record('2'))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await clock.advance(99);
    expect(await inner.read('b')).toBeUndefined();
    await clock.advance(1);
    expect(await inner.read('b')).toBeDefined();
  });

  it('a caller that leaves during a delay is in doubt, and the write lands', async () => {
    const clock = virtualClock();
    const { inner, store } = subject({ timers: clock.timers, create: { 1: { delayMs: 100 } } });
    const leaving = new AbortController();
    const waiting = store.create('a', record('1'), { signal: leaving.signal });
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(await inner.read('a')).toBeUndefined();
    await clock.advance(100);
    expect(await inner.read('a')).toBeDefined();
  });

  it('hooks let a test act between request, effect and answer', async () => {
    const seen: string[] = [];
    const { inner, store } = subject({
      create: { 1: 'lost-answer' },
      before: async (operation, n) => void seen.push(`before ${operation} ${n}: ${(await inner.read('a')) === undefined ? 'absent' : 'there'}`),
      after: async (operation, n) => void seen.push(`after ${operation} ${n}: ${(await inner.read('a')) === undefined ? 'absent' : 'there'}`),
    });
    await expect(store.create('a', record('1'))).rejects.toThrow();
    expect(seen).toEqual(['before create 1: absent', 'after create 1: there']);
  });
});
