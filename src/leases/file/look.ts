/**
 * What stands in a lock file, seen without hindering anybody.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';
import { readContents } from './locked-file.ts';
import { isAt, openToRead } from './open.ts';
import type { Place } from './place.ts';
import { isLeaseRecord, type LeaseRecord } from './record.ts';
import type { Contents } from './slots.ts';

export interface Seen {
  /** Whether somebody has the kernel's lock. */
  readonly locked: boolean;
  readonly contents: Contents;
}

/** While it is being written, a reader may see two moments at once; then it looks again. */
const MOST_LOOKS = 10;

/** undefined: there is no such file. */
export async function look({ access, locks }: Pick<Place, 'access' | 'locks'>, path: string): Promise<Seen | undefined> {
  for (let looks = 1; ; looks += 1) {
    const handle = await openToRead(path, access);
    if (handle === undefined) return undefined;
    try {
      const before = await readContents(handle);
      const locked = locks.isLocked(handle.fd);
      const contents = await readContents(handle);
      const still = contents.kind !== 'unreadable' && contents.entry?.seq === before.entry?.seq && (await isAt(handle, path));
      if (still || looks >= MOST_LOOKS) return { locked, contents };
    } finally {
      await handle.close();
    }
  }
}

/** @throws RerunSafeError `STORE_MISCONFIGURED`: beginning anew by itself would forget which slots are done. */
export function recordIn({ kind, entry }: Contents, path: string): LeaseRecord | undefined {
  if (kind === 'empty') return undefined;
  if (isLeaseRecord(entry?.body)) return entry.body;
  throw storeMisconfigured(
    `${path} cannot be read: it is damaged, or was written by something else. Break the lease: its tokens go on, its marks of slots are forgotten.`,
  );
}
