/**
 * Stores as one might write them, and as they must not be.
 *
 * @module
 */
import { storeUnavailable } from '../../src/core/errors.ts';
import type { RecordStore, Stored } from '../../src/core/ports.ts';

type Wrong = (store: RecordStore, random: () => number) => RecordStore;

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

/** Whatever stands there. */
async function put(store: RecordStore, id: string, record: Parameters<RecordStore['create']>[1]): Promise<string> {
  for (;;) {
    const standing = await store.read(id);
    const result = standing === undefined ? await store.create(id, record) : await store.replace(id, record, standing.version);
    if (result.ok) return result.version;
  }
}

export const STORES_THAT_ARE_WRONG: Readonly<Record<string, Wrong>> = {
  'it reads, then writes without a condition': (store) => ({
    ...store,
    async create(id, record) {
      const current = await store.read(id);
      if (current !== undefined) return { ok: false, reason: 'conflict', current };
      await moment();
      return { ok: true, version: await put(store, id, record) };
    },
    async replace(id, record, version) {
      const current = await store.read(id);
      if (current?.version !== version) return { ok: false, reason: 'conflict', current };
      await moment();
      return { ok: true, version: await put(store, id, record) };
    },
  }),
  'it reads from a copy that lags behind': (store) => {
    const seen = new Map<string, Stored | undefined>();
    return {
      ...store,
      async read(id) {
        const copy = seen.get(id);
        const now = await store.read(id);
        seen.set(id, now);
        return copy ?? now;
      },
    };
  },
  'it calls a lost answer "did not happen"': (store, random) => ({
    ...store,
    async replace(id, record, version) {
      const result = await store.replace(id, record, version);
      if (result.ok && random() < 0.2) throw storeUnavailable('replace', new Error('lost'));
      return result;
    },
  }),
  'it says that it wrote what it did not write': (store, random) => ({
    ...store,
    async replace(id, record, version) {
      const current = await store.read(id);
      if (current?.version === version && random() < 0.1) return { ok: true, version: record.revision };
      return store.replace(id, record, version);
    },
  }),
  'it shows an old state with a refusal': (store) => {
    const first = new Map<string, Stored>();
    return {
      ...store,
      async replace(id, record, version) {
        const result = await store.replace(id, record, version);
        if (result.ok || result.reason !== 'conflict' || result.current === undefined) return result;
        if (!first.has(id)) first.set(id, result.current);
        return { ...result, current: first.get(id) };
      },
    };
  },
};
