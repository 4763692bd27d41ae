/**
 * A process of its own that holds a lease, is done with it, and closes nothing: it has to end by itself.
 *
 * @module
 */
import { tryAcquire } from '../../src/core/lease.ts';
import { openLeases, type Place } from './places.ts';

export type Leaving = 'released' | 'taken away' | 'out of reach';

const [place, name, leaseMs, leaving] = JSON.parse(process.argv[2] ?? '[]') as [Place, string, number, Leaving];
const { leases } = openLeases(place);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const got = await tryAcquire(leases, name, { leaseMs });
if (got.kind !== 'acquired') throw new Error(got.kind);
const { lease } = got;
await lease.renew();
say({ held: true });
if (leaving !== 'released') {
  if (leaving === 'taken away') await leases.break(name);
  // The lease's own timers keep nobody alive.
  const waiting = setInterval(() => {}, 60_000);
  await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
  clearInterval(waiting);
}
const released = await lease.release();
say({ released, lost: (lease.signal.reason as { code?: string } | undefined)?.code });
