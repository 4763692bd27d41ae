import { describe, expect, it } from 'vitest';
import type { RecordStore, Stored } from '../../src/core/ports.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { recordStoreConformance, type VirtualClock, virtualClock } from '../../src/testing/index.ts';
import { failures } from '../support/collect.ts';

/** Small races: a store that is wrong by construction loses the small ones too. */
const concurrency = { racers: 5, rounds: 2, workers: 3, increments: 4 };

const failing = (build: (store: RecordStore, clock: VirtualClock) => Partial<RecordStore>): Promise<string[]> =>
  failures((runner) =>
    recordStoreConformance({
      ...runner,
      name: 'control',
      concurrency,
      async createStore() {
        const clock = virtualClock();
        const store = memoryStore({ clock });
        return { store: { ...store, ...build(store, clock) }, advance: clock.advance };
      },
    }),
  );

const aged = (found: Stored | undefined, ageMs: (found: Stored) => number): Stored | undefined => found && { ...found, ageMs: ageMs(found) };

/** Mistakes that real stores make, and what of the suite has to notice each. */
const mistakes: { mistake: string; noticed: string; build: (store: RecordStore, clock: VirtualClock) => Partial<RecordStore> }[] = [
  {
    mistake: 'create overwrites what stands there',
    noticed: 'I1 create over a standing record is refused',
    build: (store) => ({
      async create(id, record, options) {
        const found = await store.read(id);
        return found === undefined ? store.create(id, record, options) : store.replace(id, record, found.version, options);
      },
    }),
  },
  {
    mistake: 'create reads first and writes then, without a condition',
    noticed: 'I1 of 5 creates at once one wins',
    build: (store) => ({
      async create(id, record, options) {
        const found = await store.read(id);
        if (found !== undefined) return { ok: false, reason: 'conflict', current: found };
        const standing = await store.create(id, record, options);
        if (standing.ok || standing.reason !== 'conflict' || standing.current === undefined) return standing;
        return store.replace(id, record, standing.current.version, options);
      },
    }),
  },
  {
    mistake: 'replace ignores the version',
    noticed: 'I4 replace with a version that has passed is refused',
    build: (store) => ({
      async replace(id, record, version, options) {
        const found = await store.read(id);
        return store.replace(id, record, found?.version ?? version, options);
      },
    }),
  },
  {
    mistake: 'replace creates what is absent',
    noticed: 'replace where nothing stands is refused',
    build: (store) => ({
      async replace(id, record, version, options) {
        const result = await store.replace(id, record, version, options);
        return !result.ok && result.reason === 'conflict' && result.current === undefined ? store.create(id, record, options) : result;
      },
    }),
  },
  {
    mistake: 'delete ignores the version',
    noticed: 'I4 delete with a version that has passed is refused',
    build: (store) => ({
      async delete(id, version, options) {
        const found = await store.read(id);
        return store.delete(id, found?.version ?? version, options);
      },
    }),
  },
  {
    mistake: 'a conflict does not say what stands there',
    noticed: 'I1 create over a standing record is refused',
    build: (store) => ({
      async create(id, record, options) {
        const result = await store.create(id, record, options);
        return !result.ok && result.reason === 'conflict' ? { ...result, current: undefined } : result;
      },
    }),
  },
  {
    mistake: 'versions are counted from 1 in each row',
    noticed: 'I4 a version from before a delete opens nothing',
    build: (store) => {
      // The counter lives in the row, as people write it: it starts again with the row.
      const versions = new Map<string, { real: string; count: number }>();
      const out = (id: string, found: Stored | undefined) => found && { ...found, version: String(versions.get(id)?.count) };
      return {
        read: async (id) => out(id, await store.read(id)),
        async create(id, record) {
          const result = await store.create(id, record);
          if (result.ok) versions.set(id, { real: result.version, count: 1 });
          else return result.reason === 'conflict' ? { ...result, current: out(id, result.current) } : result;
          return { ok: true, version: '1' };
        },
        async replace(id, record, version) {
          const row = versions.get(id);
          const result = await store.replace(id, record, row !== undefined && String(row.count) === version ? row.real : 'none');
          if (!result.ok) return result.reason === 'conflict' ? { ...result, current: out(id, result.current) } : result;
          const count = (row?.count ?? 0) + 1;
          versions.set(id, { real: result.version, count });
          return { ok: true, version: String(count) };
        },
        async delete(id, version) {
          const row = versions.get(id);
          const result = await store.delete(id, row !== undefined && String(row.count) === version ? row.real : 'none');
          return result.ok ? result : { ...result, current: out(id, result.current) };
        },
      };
    },
  },
  {
    mistake: 'the age comes from the clock of whoever wrote',
    noticed: 'I6 a record that was just written is young',
    build: (store, clock) => ({
      read: async (id) => aged(await store.read(id), (found) => Math.max(0, clock.nowMs() - found.record.createdAtMs)),
    }),
  },
  {
    mistake: 'the age counts from the first write',
    noticed: 'I6 the age starts again at every write',
    build: (store, clock) => {
      const born = new Map<string, number>();
      return {
        async create(id, record, options) {
          if (!born.has(id)) born.set(id, clock.nowMs());
          return store.create(id, record, options);
        },
        read: async (id) => aged(await store.read(id), () => clock.nowMs() - (born.get(id) ?? 0)),
      };
    },
  },
  {
    mistake: 'reads lag behind writes',
    noticed: 'every read after a write sees that write',
    build: (store) => {
      const seen = new Map<string, Stored | undefined>();
      return {
        async read(id) {
          const lagging = seen.get(id);
          const now = await store.read(id);
          seen.set(id, now);
          return lagging ?? now;
        },
      };
    },
  },
  {
    mistake: 'long texts are cut',
    noticed: 'comes back exactly: a body of 200 KB',
    build: (store) => ({
      create: (id, record, options) => {
        const { outcome } = record;
        const cut = outcome?.kind === 'value' && typeof outcome.value === 'string' ? { ...outcome, value: outcome.value.slice(0, 65_536) } : outcome;
        return store.create(id, cut === undefined ? record : { ...record, outcome: cut }, options);
      },
    }),
  },
  {
    mistake: 'too large is thrown',
    noticed: 'too large is a value: create writes nothing',
    build: (store) => ({
      async create(id, record, options) {
        const result = await store.create(id, record, options);
        if (!result.ok && result.reason === 'too-large') throw new Error('RequestBodyTooLarge');
        return result;
      },
    }),
  },
  {
    mistake: 'ids are compared without regard to case',
    noticed: 'ids are kept apart',
    build: (store) => ({
      read: (id) => store.read(id.toLowerCase()),
      create: (id, record, options) => store.create(id.toLowerCase(), record, options),
      replace: (id, record, version, options) => store.replace(id.toLowerCase(), record, version, options),
      delete: (id, version, options) => store.delete(id.toLowerCase(), version, options),
    }),
  },
  {
    mistake: 'a signal is not looked at',
    noticed: 'I12 a signal that has already aborted never writes',
    build: (store) => ({ create: (id, record) => store.create(id, record) }),
  },
  {
    mistake: 'purge takes whatever is older than its retention',
    noticed: 'I3 purge removes completed and released records',
    build: (store) => ({
      async purge({ operation }) {
        let removed = 0;
        for await (const { id, record, version, ageMs } of store.list(operation === undefined ? {} : { operation })) {
          if (ageMs > record.retentionMs && (await store.delete(id, version)).ok) removed += 1;
        }
        return { removed };
      },
    }),
  },
  {
    mistake: 'purge spares nothing young',
    noticed: 'purge spares what is younger than an hour',
    build: (store) => ({
      async purge({ operation }) {
        let removed = 0;
        for await (const { id, record, version, ageMs } of store.list(operation === undefined ? {} : { operation })) {
          if (record.state === 'completed' && ageMs > record.retentionMs && (await store.delete(id, version)).ok) removed += 1;
        }
        return { removed };
      },
    }),
  },
  {
    mistake: 'purge removes by id, not by the version it saw',
    noticed: 'I1 purge never takes a record that was written again',
    build: (store) => ({
      async purge({ operation }) {
        const expired: string[] = [];
        for await (const { id, ageMs } of store.list({ ...(operation === undefined ? {} : { operation }), olderThanMs: 3_600_000 })) {
          if (ageMs > 0) expired.push(id);
        }
        for (const id of expired) {
          const found = await store.read(id);
          if (found !== undefined) await store.delete(id, found.version);
        }
        return { removed: expired.length };
      },
    }),
  },
];

describe('the suite for record stores notices', () => {
  it('nothing in a store that is right', async () => {
    expect(await failing(() => ({}))).toEqual([]);
  });

  it.each(mistakes)('$mistake', async ({ build, noticed }) => {
    const failed = await failing(build);
    expect(failed.filter((title) => title.startsWith(noticed))).not.toEqual([]);
  });
});
