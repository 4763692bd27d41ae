/**
 * Engines that are wrong, to see that a kill shows it: each breaks one thing that a promise rests on.
 *
 * @module
 */
import type { RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import type { RecordId, RecordToWrite } from '../../src/core/record.ts';

const ALL = {
  /** A write takes effect whatever stands there. */
  'ignores versions': (store) => {
    const write = async (id: RecordId, record: RecordToWrite, refused: WriteResult): Promise<WriteResult> => {
      if (refused.ok || refused.reason !== 'conflict' || refused.current === undefined) return refused;
      return write(id, record, await store.replace(id, record, refused.current.version));
    };
    return {
      ...store,
      create: async (id, record, options) => write(id, record, await store.create(id, record, options)),
      replace: async (id, record, version, options) => write(id, record, await store.replace(id, record, version, options)),
    };
  },
  /** A step is done, and nobody remembers. */
  'forgets steps': (store) => ({
    ...store,
    replace: (id, { steps: _, ...record }, version, options) => store.replace(id, record, version, options),
  }),
  /** Every lease has run out. */
  'ages too fast': (store) => {
    const aged = <S extends Stored | undefined>(stored: S): S => (stored === undefined ? stored : { ...stored, ageMs: stored.ageMs + 60_000 });
    const told = <R extends WriteResult>(result: R): R =>
      !result.ok && result.reason === 'conflict' ? { ...result, current: aged(result.current) } : result;
    return {
      ...store,
      read: async (id, options) => aged(await store.read(id, options)),
      create: async (id, record, options) => told(await store.create(id, record, options)),
      replace: async (id, record, version, options) => told(await store.replace(id, record, version, options)),
    };
  },
  /** What was completed is told, and not kept. */
  'loses outcomes': (store) => ({
    ...store,
    async replace(id, record, version, options) {
      if (record.state === 'completed') return { ok: true, version };
      return store.replace(id, record, version, options);
    },
  }),
} satisfies Record<string, (store: RecordStore) => RecordStore>;

export type WrongName = keyof typeof ALL;
export const WRONG = Object.keys(ALL) as readonly WrongName[];

export const wrongStore = (name: WrongName, store: RecordStore): RecordStore => ALL[name](store);
