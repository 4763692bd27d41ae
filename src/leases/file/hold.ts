/**
 * What a holder does with its lease: renew it, mark what it did, give it back.
 *
 * @module
 */
import type { Owner } from '../../core/record.ts';
import { instant, realSystem } from '../../core/system.ts';
import type { Hold, Holds } from './holds.ts';
import { look, recordIn } from './look.ts';
import { toError } from './map-error.ts';
import type { Place } from './place.ts';
import { isLeaseRecord, type Renewed, released } from './record.ts';

/**
 * The kernel's lock is what holds; nothing has to be written, and a full disk ends no lease. Lost: late, or the file is not the one that others lock by now.
 */
export async function renew({ stamp }: Place, holds: Holds, key: string, token: number, leaseMs: number): Promise<'renewed' | 'lost'> {
  const since = instant(realSystem.clock);
  const hold = holds.get(key);
  if (hold === undefined || hold.token !== token) return 'lost';
  if (hold.over || !(await hold.file.isAt()) || hold.over) {
    await hold.end();
    return 'lost';
  }
  hold.renew(leaseMs, since);
  // Tells people how it stands, and cleaners of old files that this one is in use.
  hold.file.writeAside({ token, leaseMs, at: stamp() } satisfies Renewed).catch(() => {});
  return 'renewed';
}

export interface Marks {
  readonly slotDone: number | undefined;
  readonly holdMs: number;
}

/** Also after the own deadline: as long as the kernel's lock was there, nobody else had it, and what was done is done. */
export async function release(place: Place, holds: Holds, key: string, path: string, owner: Owner, marks: Marks): Promise<'released' | 'lost'> {
  const hold = holds.get(key);
  if (hold === undefined) return (await wasReleasedBy(place, path, owner)) ? 'released' : 'lost';
  const done = (await hold.file.isAt()) && (await write(place, hold, marks));
  await hold.end();
  return done ? 'released' : 'lost';
}

/** False: lost meanwhile. */
async function write({ stamp }: Place, hold: Hold, marks: Marks): Promise<boolean> {
  const { file } = hold;
  try {
    const standing = recordIn(await file.read(), file.path);
    if (standing === undefined || standing.token !== hold.token) return false;
    await file.write(released(standing, marks, stamp()));
    // An operator who broke it after this look finds the mark and takes it along; before it, the mark may be lost, and so is the lease.
    return await file.isAt();
  } catch (error) {
    if (hold.over) return false;
    // The lease is kept, so that the release can be tried again; it ends by itself.
    if (marks.slotDone !== undefined || marks.holdMs > 0) throw toError('mark the lease', error, true);
    // Nothing to remember. Giving it back needs no disk.
    return true;
  }
}

/** A second copy of a release that had succeeded. */
async function wasReleasedBy(place: Place, path: string, owner: Owner): Promise<boolean> {
  const seen = await look(place, path);
  const record = seen?.contents.entry?.body;
  return isLeaseRecord(record) && record.state === 'released' && record.owner === owner;
}
