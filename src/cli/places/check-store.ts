/**
 * The store at work: a record of the check's own is written, refused, changed and removed, a lease taken and given back.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { recordId } from '../../core/key.ts';
import type { LeaseProvider, RecordStore } from '../../core/ports.ts';
import { type RecordToWrite, SCHEMA } from '../../core/record.ts';
import { pause, realSystem } from '../../core/system.ts';
import type { Address } from './address.ts';
import { type Finding, failed, fine, problem } from './finding.ts';
import { needsSetUp, setUpCommand } from './needs-set-up.ts';
import type { OpenPlace } from './open.ts';

/** Of the records and the lease of the check. A lease row is never removed, so there is one name for all. */
const NAME = 'rerunsafe/doctor';
const LEASE_MS = 15_000;
const MOST_CLOCK_DIFFERENCE_MS = 10_000;
const ASKS = 10;
const ASK_AGAIN_MS = 300;

/** Reads what is not there. @throws whatever the store says */
export async function look({ store, leases }: Pick<OpenPlace, 'store' | 'leases'>): Promise<void> {
  if (store === undefined) await leases.read(NAME);
  else await store.read(recordId(NAME, [], [randomUUID()]));
}

/** The last one is a problem where there is no use in going on. */
export async function checkReach(place: OpenPlace, address: Address): Promise<readonly Finding[]> {
  const sinceMs = performance.now();
  const reached = (): Finding => fine('reachable', `answered after ${Math.round(performance.now() - sinceMs)} ms`);
  try {
    await look(place);
  } catch (error) {
    if (needsSetUp(error)) return [reached(), failed('set up', error, `Run: ${setUpCommand(address)}`)];
    return [failed('reachable', error)];
  }
  return [reached(), fine('set up', 'it is')];
}

export async function checkRecords(store: RecordStore): Promise<Finding> {
  const id = recordId(NAME, [], [randomUUID()]);
  const record = probe(store);
  const wrong = (what: string): Finding =>
    problem('records', what, 'Do not use this store: conditional writes do not hold there. Is it the real service, or behind a cache?');
  try {
    const created = await store.create(id, record);
    if (!created.ok) return wrong('a new record was refused');
    const again = await store.create(id, probe(store));
    if (again.ok) return wrong('the same record was made a second time');
    const standing = await store.read(id);
    if (standing?.record.owner !== record.owner) return wrong('what was written is not what is read');
    const replaced = await store.replace(id, { ...record, revision: randomUUID() }, created.version);
    if (!replaced.ok) return wrong('the version that was just written was refused');
    const late = await store.replace(id, { ...record, revision: randomUUID() }, created.version);
    if (late.ok) return wrong('a version that is over was written to');
    const removed = await store.delete(id, replaced.version);
    if (!removed.ok || (await store.read(id)) !== undefined) return wrong('the record could not be removed');
    return fine('records', 'written, refused a second time, read, changed, removed');
  } catch (error) {
    return failed('records', error);
  } finally {
    await remove(store, id).catch(() => {});
  }
}

/** Of a state that ends by itself, should it ever be left behind. */
const probe = (store: RecordStore): RecordToWrite => ({
  schema: SCHEMA,
  operation: NAME,
  scope: '',
  state: 'released',
  owner: randomUUID(),
  revision: randomUUID(),
  token: store.clock.nowMs(),
  attempt: 1,
  leaseMs: 0,
  retentionMs: 3_600_000,
  createdAtMs: store.clock.nowMs(),
});

async function remove(store: RecordStore, id: string): Promise<void> {
  const standing = await store.read(id);
  if (standing !== undefined) await store.delete(id, standing.version);
}

export async function checkLeases(leases: LeaseProvider): Promise<Finding> {
  const owner = randomUUID();
  const leaseMs = Math.max(LEASE_MS, leases.limits.minLeaseMs);
  const wrong = (what: string): Finding => problem('leases', what, 'Do not use this store for leases.');
  try {
    let got = await leases.acquire(NAME, { owner, leaseMs, label: 'rerunsafe doctor' });
    for (let asked = 1; got.kind === 'held' && asked < ASKS; asked++) {
      await pause(realSystem, ASK_AGAIN_MS);
      got = await leases.acquire(NAME, { owner, leaseMs, label: 'rerunsafe doctor' });
    }
    if (got.kind === 'held') return fine('leases', 'another doctor holds the lease that is tried');
    if (got.kind !== 'acquired') return wrong(`a lease without slots was refused (${got.kind})`);
    const { token } = got;
    const other = await leases.acquire(NAME, { owner: randomUUID(), leaseMs });
    const renewed = await leases.renew(NAME, { owner, token, leaseMs });
    const released = await leases.release(NAME, { owner, token });
    if (other.kind === 'acquired') return wrong('a lease was given to two at once');
    if (renewed !== 'renewed' || released !== 'released') return wrong('a lease was lost at once');
    return fine('leases', 'taken, refused to another, renewed, given back');
  } catch (error) {
    return failed('leases', error);
  }
}

/** Slots and schedules go by this machine's clock, ages by the store's. Where both are one there is nothing to tell. */
export function checkClock({ clock }: RecordStore): Finding {
  const aheadMs = Date.now() - clock.nowMs();
  const detail = `this machine is ${Math.abs(aheadMs) < 1_000 ? 'less than a second' : `${Math.round(Math.abs(aheadMs) / 1_000)} s`} from the store`;
  if (Math.abs(aheadMs) <= MOST_CLOCK_DIFFERENCE_MS) return fine('clock', detail);
  return problem('clock', `${detail} (${aheadMs > 0 ? 'ahead' : 'behind'})`, 'Set the clock of this machine (NTP).');
}

/** Whether a full server would throw records away, and whether a failover may. */
export async function checkKeeping(store: RecordStore): Promise<Finding> {
  try {
    await store.setUp?.();
  } catch (error) {
    return failed('keeps records', error);
  }
  if (store.limits.losesOnFailover !== true) return fine('keeps records', 'a full server throws nothing away; losses in a failover are accepted');
  return problem(
    'keeps records',
    'records can be lost when a replica takes over, so that "run" with --on-unknown block, which is the default, is refused',
    'Add #accept-failover-loss to the URL if that may be, or name another store.',
  );
}
