/**
 * Acquiring: the kernel's lock first, then, under it, the token.
 *
 * @module
 */
import { storeMisconfigured, storeUnavailable } from '../../core/errors.ts';
import type { Acquired } from '../../core/ports.ts';
import type { Owner } from '../../core/record.ts';
import { elapsedMs, type Instant, instant, pause, realSystem } from '../../core/system.ts';
import type { Holds } from './holds.ts';
import { type LockedFile, lockFile } from './locked-file.ts';
import { look, recordIn } from './look.ts';
import { syncDirectory } from './open.ts';
import type { Place } from './place.ts';
import { claimed, decideAcquire, heldAnswer, heldForMs, isLeaseRecord, type LeaseRecord } from './record.ts';

export interface Wanted {
  readonly name: string;
  readonly owner: Owner;
  readonly leaseMs: number;
  readonly label: string | undefined;
  readonly slot: number | undefined;
}

const MOST_ROUNDS = 20;
/** Whoever looks has the lock for an instant, in which a busy machine may take the processor away. */
const INSTANT_MS = 250;

/**
 * A new file may follow one that was just deleted, whose last token was the clock's reading then, or a few more. The first token is read from the clock
 * so much later.
 */
export const SEED_AFTER_MS = 12;

export async function acquire(place: Place, holds: Holds, key: string, path: string, wanted: Wanted, signal?: AbortSignal): Promise<Acquired> {
  const since = instant(realSystem.clock);
  const hold = holds.get(key);
  if (hold !== undefined) {
    if (!hold.over && (await hold.file.isAt())) {
      const record = recordIn(await hold.file.read(), path);
      return { kind: 'acquired', token: hold.token, ...lastSlotOf(record) };
    }
    await hold.end();
  }
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const file = await lockedOrTold(place, path, signal);
    if ('kind' in file) return file;
    let kept = false;
    try {
      const answer = await claim(place, file, wanted);
      if (answer.kind !== 'acquired') return answer;
      // Deleted, or broken by an operator, while we wrote: this token was given to nobody, and never will be.
      if (!(await file.isAt())) continue;
      refuseLate(wanted.leaseMs, since, signal);
      kept = true;
      holds.add(key, file, answer.token, wanted.leaseMs, since);
      return answer;
    } finally {
      if (!kept) await file.close();
    }
  }
  throw storeUnavailable(`${path} is deleted or replaced as often as it is locked`, undefined);
}

async function claim({ stamp, directory }: Place, file: LockedFile, wanted: Wanted): Promise<Acquired> {
  const contents = await file.read();
  const standing = recordIn(contents, file.path);
  if (contents.entry !== undefined && contents.entry.seq >= Number.MAX_SAFE_INTEGER) {
    throw storeMisconfigured(`${file.path} cannot be written any more: its count of writes is at its end. Break the lease.`);
  }
  if (standing === undefined) await pause(realSystem, SEED_AFTER_MS);
  const decision = decideAcquire(standing, wanted, stamp());
  if (decision.kind !== 'claim') return decision;
  await file.write(claimed(standing, wanted, decision.token, stamp()));
  // Its maker may have been killed before the name itself was safe.
  if (contents.kind === 'empty') await syncDirectory(directory);
  return { kind: 'acquired', token: decision.token, ...lastSlotOf(standing) };
}

const lastSlotOf = (record: LeaseRecord | undefined): { lastSlot?: number } => (record?.lastSlot === undefined ? {} : { lastSlot: record.lastSlot });

/** Nobody is told that they have it after their own deadline, or after they have gone. The lock goes; the number that was used up is no loss. */
function refuseLate(leaseMs: number, since: Instant, signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw storeUnavailable('the call was given up', signal.reason);
  if (elapsedMs(since, realSystem.clock) >= leaseMs) throw storeUnavailable('the lease ended before its token was on the disk', undefined);
}

/** The lock, or who has the lease. Where nobody has, and somebody has the lock all the same, that is waited for, but not for long. */
async function lockedOrTold(place: Place, path: string, signal: AbortSignal | undefined): Promise<LockedFile | Acquired> {
  const since = instant(realSystem.clock);
  do {
    const file = await lockFile(path, { ...place, signal });
    if (file !== 'held') return file;
    const holder = await told(place, path);
    if (holder !== undefined) return holder;
  } while (elapsedMs(since, realSystem.clock) < INSTANT_MS);
  return { kind: 'held' };
}

/** undefined where it is released, and locked all the same: somebody is just acquiring it, or looks at it. */
async function told(place: Place, path: string): Promise<Acquired | undefined> {
  const seen = await look(place, path);
  const record = seen?.contents.entry?.body;
  if (!isLeaseRecord(record) || record.state === 'released') return undefined;
  return heldAnswer(record, heldForMs(record, seen?.contents.aside, place.stamp()));
}
