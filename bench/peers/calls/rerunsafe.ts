import { isRerunSafeError, type RecordStore, runOnce } from 'rerunsafe';
import type { Peer } from '../peer.ts';

export const rerunsafe = (store: RecordStore): Peer => ({
  name: 'rerunsafe',
  call: (key, work, leaseMs) =>
    runOnce({ store, operation: 'bench/charge', key, ...(leaseMs === undefined ? {} : { leaseMs, renew: 'none' as const }) }, work),
  isInFlight: (error) => isRerunSafeError(error, 'IN_FLIGHT'),
});
