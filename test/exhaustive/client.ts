import type { RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Caller } from './caller.ts';

const none = (): never => {
  throw new Error('not asked for here');
};

/** The store as one caller reaches it: each call is a message. A new one for each run, since core keeps what it waits for by store. */
export function clientOf(caller: Caller): RecordStore {
  const { world } = caller;
  const { store } = world;
  const accepted = async (record: RecordToWrite, write: Promise<WriteResult>): Promise<WriteResult> => {
    const result = await write;
    if (result.ok) world.accepts(record, caller);
    return result;
  };
  const { name, limits } = store;
  return {
    name,
    limits,
    clock: { source: 'store', uncertaintyMs: 0, nowMs: () => world.nowMs },
    read: (id) => caller.send('read', () => store.read(id)),
    create: (id, record) => caller.send('create', () => accepted(record, store.create(id, record))),
    replace: (id, record, version) => caller.send('replace', () => accepted(record, store.replace(id, record, version))),
    delete: none,
    list: none,
    purge: none,
  };
}

/** Leases draw their revisions at random; the same run has to be the same again, so here they are called by the order in which they were sent. */
export function withCountedRevisions(store: RecordStore, name: string): RecordStore {
  const counted = new Map<string, string>();
  const drawn = new Map<string, string>();
  const out = (record: RecordToWrite): RecordToWrite => {
    const revision = counted.get(record.revision) ?? `${name}r${counted.size + 1}`;
    counted.set(record.revision, revision);
    drawn.set(revision, record.revision);
    return { ...record, revision };
  };
  const back = (stored: Stored): Stored => {
    const { record } = stored;
    return { ...stored, record: { ...record, revision: drawn.get(record.revision) ?? record.revision } };
  };
  const answered = (result: WriteResult): WriteResult =>
    result.ok || result.reason !== 'conflict' || result.current === undefined ? result : { ...result, current: back(result.current) };
  return {
    ...store,
    read: async (id, options) => {
      const stored = await store.read(id, options);
      return stored === undefined ? undefined : back(stored);
    },
    create: async (id, record, options) => answered(await store.create(id, out(record), options)),
    replace: async (id, record, version, options) => answered(await store.replace(id, out(record), version, options)),
  };
}
