import { describe, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { recordStoreConformance, virtualClock } from '../../src/testing/index.ts';

recordStoreConformance({
  name: 'memory, in virtual time',
  describe,
  it,
  async createStore() {
    const clock = virtualClock();
    return { store: memoryStore({ clock }), advance: clock.advance };
  },
});

recordStoreConformance({ name: 'memory, in real time', describe, it, createStore: async () => ({ store: memoryStore() }) });

recordStoreConformance({
  name: 'memory, with parts',
  describe,
  it,
  async createStore() {
    const clock = virtualClock();
    return { store: memoryStore({ clock, inlineBytes: 2_000, maxRecordBytes: 300_000 }), advance: clock.advance };
  },
});
