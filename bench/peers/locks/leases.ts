import { type RecordStore, storeLeases, tryAcquire } from 'rerunsafe';
import { LOCK_MS, type Locks } from './lock.ts';

export function leases(store: RecordStore): Locks {
  const provider = storeLeases(store);
  return {
    name: 'rerunsafe',
    async acquire(name) {
      const got = await tryAcquire(provider, name, { leaseMs: LOCK_MS });
      if (got.kind === 'held') return undefined;
      if (got.kind !== 'acquired') throw new Error(`a lock without slots answered ${got.kind}`);
      return () => got.lease.release();
    },
  };
}
