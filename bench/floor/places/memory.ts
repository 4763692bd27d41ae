import { memoryStore } from 'rerunsafe';
import { type Place, templateOf } from '../place.ts';

/** It has no SDK: the two writes are its own. */
export async function memoryPlace(): Promise<Place> {
  const store = memoryStore();
  return {
    name: 'memory',
    store,
    async writes() {
      const { running, completed } = await templateOf(store, async (id) => (await store.read(id))?.record);
      if (running === undefined || completed === undefined) throw new Error('there is no record');
      return {
        async create({ id, owner, revision }) {
          const result = await store.create(id, { ...running, owner, revision });
          if (result.ok) return { version: result.version };
          return { standing: result };
        },
        async complete({ id, owner, revision }, over) {
          const result = await store.replace(id, { ...completed, owner, revision }, over);
          if (!result.ok) throw new Error('it was not there');
        },
      };
    },
    stop: async () => {},
  };
}
