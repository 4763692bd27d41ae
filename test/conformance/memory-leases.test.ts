import { describe, it } from 'vitest';
import { storeLeases } from '../../src/core/store-leases.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { leaseProviderConformance, virtualClock } from '../../src/testing/index.ts';

leaseProviderConformance({
  name: 'memory, in virtual time',
  describe,
  it,
  leaseMs: 30_000,
  async createLeases() {
    const clock = virtualClock();
    return { leases: storeLeases(memoryStore({ clock })), advance: clock.advance };
  },
});

leaseProviderConformance({
  name: 'memory, in real time',
  describe,
  it,
  leaseMs: 300,
  createLeases: async () => ({ leases: storeLeases(memoryStore()) }),
});
