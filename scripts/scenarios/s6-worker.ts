/**
 * S6: a holder of the lease.
 *
 * @module
 */
import { type Lease, tryAcquire } from '../../src/index.ts';
import { serve } from '../demo/calls.ts';
import { leasesReady, placeGiven } from './place.ts';
import { LEASE, targetAt } from './s6-targets.ts';

interface Write {
  readonly to: string;
  readonly text: string;
  readonly fenced: boolean;
}

const place = placeGiven('postgres', 'dynamodb', 'azure-tables', 'azure-blob', 'redis', 'sqlite', 'file');
const leases = await leasesReady(place);
const target = await targetAt(place, process.env.FOLDER ?? '');
let lease: Lease | undefined;

const held = (): Lease => {
  if (lease === undefined) throw new Error('no lease');
  return lease;
};

serve({
  /** Not renewed, so that the pause of the process is not the only thing that ends it. */
  async hold({ leaseMs }: { leaseMs: number }): Promise<number | string> {
    const got = await tryAcquire(leases, LEASE, { leaseMs, renew: 'none' });
    if (got.kind !== 'acquired') return got.kind;
    lease = got.lease;
    return lease.token;
  },
  claim: async ({ to }: { to: string }) => void (await target.claim?.(held().fence, to)),
  async write({ to, text, fenced }: Write): Promise<string> {
    await target.write(fenced ? held().fence : undefined, to, text);
    return 'written';
  },
  read: async ({ from }: { from: string }) => (await target.read(from)) ?? 'nothing',
  assertHeld: async () => held().assertHeld(),
  break: () => leases.break(LEASE),
});
