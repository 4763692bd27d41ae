/**
 * For operators: look at a lease, free it.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isRerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import type { LeaseState } from '../../core/ports.ts';
import { pause, realSystem } from '../../core/system.ts';
import { SEED_AFTER_MS } from './acquire.ts';
import { LockedFile, lockFile, readContents } from './locked-file.ts';
import { look, recordIn } from './look.ts';
import { create, openToRead, syncDirectory } from './open.ts';
import type { Place } from './place.ts';
import { broken, heldForMs, isLeaseRecord, type LeaseRecord, leftMs } from './record.ts';

/** `remainingMs: 0` of a held one: its holder is overdue, most likely stopped. In the moment between a lock and its token, `token` is the one before. */
export async function read(place: Place, path: string): Promise<LeaseState | undefined> {
  const seen = await look(place, path);
  if (seen === undefined) return undefined;
  const { locked, contents } = seen;
  const record = locked && contents.kind === 'unreadable' ? undefined : recordIn(contents, path);
  if (record === undefined) return locked ? { held: true, token: 0 } : undefined;
  const now = place.stamp();
  const { token, owner, label, lastSlot } = record;
  const holdLeftMs = record.state === 'released' ? leftMs(record, now) : 0;
  const byHolder = locked && record.state === 'held';
  const held = locked || holdLeftMs > 0;
  return {
    held,
    token,
    ...(byHolder && owner !== undefined ? { owner } : {}),
    ...(held && label !== undefined ? { label } : {}),
    ...(byHolder ? { remainingMs: heldForMs(record, contents.aside, now) } : holdLeftMs > 0 ? { remainingMs: holdLeftMs } : {}),
    ...(lastSlot === undefined ? {} : { lastSlot }),
  };
}

/** Of one lease, one breaks at a time: two could each miss the token that was given out between them. */
const breakersOf = (path: string): string => join(dirname(path), `.${basename(path)}.break`);
const BREAKERS_WAIT_MS = 5_000;

/**
 * No lock can be taken from a process that lives, and a stopped one does not give it up. So a new file takes the place of the old: the old holder keeps the
 * lock on a file that is nobody's any more, sees so when it renews, and is fenced by the token of the new one.
 */
export async function breakLease(place: Place, name: string, path: string, signal: AbortSignal | undefined): Promise<void> {
  const turn = await lockFile(breakersOf(path), { ...place, waitMs: BREAKERS_WAIT_MS, signal });
  if (turn === 'held') {
    throw storeMisconfigured(
      `another process has had ${breakersOf(path)} locked for ${BREAKERS_WAIT_MS} ms. It hangs while it breaks this lease, or is in the way on purpose: end it (fuser names it), then break again.`,
    );
  }
  try {
    const old = await openToRead(path, place.access);
    if (old === undefined) return;
    try {
      await replace(place, name, path, old);
    } finally {
      await old.close();
    }
  } finally {
    await turn.close();
  }
}

async function replace(place: Place, name: string, path: string, old: FileHandle): Promise<void> {
  const { directory, locks, stamp } = place;
  // A name that can be guessed can be taken, by a directory or by a file of somebody else.
  const successor = join(dirname(path), `.${basename(path)}.${randomUUID()}.new`);
  const handle = await create(successor, place.access);
  if (handle === undefined) throw storeUnavailable(`${successor} was made by somebody else`, undefined);
  const file = new LockedFile(path, handle, locks);
  let replaced = false;
  try {
    // Locked before anybody can find it: nobody acquires it before its token is final.
    if (!locks.tryLock(handle.fd)) throw storeUnavailable(`${successor} is locked by somebody else`, undefined);
    await file.read();
    const before = await standingIn(old);
    if (before === undefined) await pause(realSystem, SEED_AFTER_MS);
    const first = broken(name, [before], stamp());
    await file.write(first);
    await rename(successor, path);
    replaced = true;
    // Until the rename the old file could still be acquired, or released with a mark.
    const after = await standingIn(old);
    if (after !== undefined && (after.token >= first.token || after.lastSlot !== first.lastSlot)) {
      await file.write(broken(name, [after, first], stamp()));
    }
    await syncDirectory(directory);
  } catch (error) {
    throw replaced && !isRerunSafeError(error, 'WRITE_UNKNOWN') ? writeUnknown(`break the lease: ${path} was replaced`, error) : error;
  } finally {
    await file.close();
    if (!replaced) await rm(successor, { force: true }).catch(() => {});
  }
}

const MOST_LOOKS = 10;

/** One that is damaged is replaced like any other: tokens go on from the clock. */
async function standingIn(old: FileHandle): Promise<LeaseRecord | undefined> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    try {
      const { entry } = await readContents(old);
      if (isLeaseRecord(entry?.body)) return entry.body;
    } catch (error) {
      // What has the right checksum, and yet is no JSON.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}
