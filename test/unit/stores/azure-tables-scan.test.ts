import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ListQuery } from '../../../src/core/ports.ts';
import { FOREVER_MS } from '../../../src/core/record.ts';
import { tableStore } from '../../../src/stores/azure-tables/index.ts';
import { all, freshId, laterClient, put, record, type Subject, startSubject } from './azure-tables-subject.ts';

let subject: Subject;
beforeAll(async () => {
  subject = await startSubject();
});
afterAll(() => subject.stop());
beforeEach(() => subject.proxy.clear());

const HOUR_MS = 3_600_000;

describe('listing and purging', () => {
  it('lists by operation and state, whatever signs are in the name, and leaves the rows of others alone', async () => {
    const client = subject.client();
    const store = tableStore({ client, partitions: 4 });
    await store.setUp();
    const odd = "o'brien' or operation ne '";
    const ids = [freshId(), freshId(), freshId()] as const;
    await put(store, ids[0], { operation: odd });
    await put(store, ids[1], { operation: odd, state: 'blocked' });
    await put(store, ids[2], { operation: 'other' });
    await client.createEntity({ partitionKey: 'rs0001', rowKey: 'business', total: 1 });
    await client.createEntity({ partitionKey: 'elsewhere', rowKey: 'x', operation: odd, state: 'blocked', schema: 1, revision: 'x' });
    const idsOf = async (query: ListQuery) => (await all(store, query)).map(({ id }) => id).sort();
    expect(await idsOf({})).toEqual([...ids].sort());
    expect(await idsOf({ operation: odd })).toEqual([ids[0], ids[1]].sort());
    expect(await idsOf({ operation: odd, state: 'blocked' })).toEqual([ids[1]]);
    expect(await idsOf({ olderThanMs: 60_000 })).toEqual([]);
    expect((await all(store, { operation: 'other' }))[0]).toMatchObject({
      version: (await store.read(ids[2]))?.version,
      record: { operation: 'other' },
    });
  });

  it('lists more than a page', async () => {
    const store = await subject.ownStore({ partitions: 8 });
    const ids = Array.from({ length: 1_050 }, freshId);
    for (let at = 0; at < ids.length; at += 50) await Promise.all(ids.slice(at, at + 50).map((id) => put(store, id)));
    expect((await all(store, {})).map(({ id }) => id).sort()).toEqual([...ids].sort());
    await store.close();
  }, 60_000);

  it('I6 purge removes what has expired and is older than an hour, and lapsed runs only when asked to', async () => {
    let hours = 0;
    const store = tableStore({ client: laterClient(subject.client(), () => hours * HOUR_MS) });
    await store.setUp();
    const rows = {
      done: { state: 'completed', retentionMs: 1_000, leaseMs: 500 },
      released: { state: 'released', retentionMs: 1_000, leaseMs: 500 },
      remembered: { state: 'completed' },
      blocked: { state: 'blocked', retentionMs: 1_000 },
      running: { leaseMs: 1_000, retentionMs: 2_000 },
      lease: { leaseMs: 1_000, retentionMs: FOREVER_MS },
      newer: { schema: 2, state: 'completed', retentionMs: 1_000 },
    } as const;
    const ids = new Map<string, string>();
    for (const [name, changes] of Object.entries(rows)) {
      ids.set(freshId(), name);
      await put(store, [...ids.keys()].at(-1) ?? '', changes);
    }
    const standing = async () => {
      const found = await Promise.all([...ids.keys()].map((id) => store.read(id).catch(() => true)));
      return [...ids.values()].filter((_, n) => found[n]);
    };
    expect(await store.purge({})).toEqual({ removed: 0 });
    hours = 0.9;
    await store.read(freshId());
    expect(await store.purge({})).toEqual({ removed: 0 });
    hours = 3;
    await store.read(freshId());
    expect(await store.purge({ operation: 'another' })).toEqual({ removed: 0 });
    expect(await store.purge({ limit: 1 })).toEqual({ removed: 1 });
    expect(await store.purge({})).toEqual({ removed: 1 });
    expect(await standing()).toEqual(['remembered', 'blocked', 'running', 'lease', 'newer']);
    expect(await store.purge({ lapsedOlderThanMs: 4 * 3_600_000 })).toEqual({ removed: 0 });
    expect(await store.purge({ lapsedOlderThanMs: 3_600_000 })).toEqual({ removed: 1 });
    expect(await standing()).toEqual(['remembered', 'blocked', 'lease', 'newer']);
  });

  it('I3 purge spares a row that was written after it was looked at', async () => {
    const store = tableStore({ client: laterClient(subject.client(), () => 3 * HOUR_MS) });
    await store.setUp();
    const id = freshId();
    const version = await put(store, id, { state: 'completed', retentionMs: 1_000 });
    const late = subject.proxy.inject({ match: ({ method }) => method === 'DELETE', action: { delayMs: 300, at: 'request' } });
    const purging = store.purge({});
    await late.fired;
    expect(await store.replace(id, record(), version)).toMatchObject({ ok: true });
    expect(await purging).toEqual({ removed: 0 });
    expect((await store.read(id))?.record.state).toBe('running');
  });

  it("the age of a record and the store's time follow the dates of answers, not the own clock", async () => {
    let hours = 0;
    const store = tableStore({ client: laterClient(subject.client(), () => hours * HOUR_MS) });
    await store.setUp();
    const id = freshId();
    await put(store, id);
    expect((await store.read(id))?.ageMs).toBeLessThan(60_000);
    hours = 5;
    const age = (await store.read(id))?.ageMs ?? 0;
    expect(Math.abs(age - 5 * 3_600_000)).toBeLessThan(60_000);
    expect(Math.abs(store.clock.nowMs() - Date.now() - 5 * 3_600_000)).toBeLessThan(60_000);
  });
});
