/**
 * Clean-up: what may be removed, and removing it on condition of the version that was seen.
 *
 * @module
 */
import { isRerunSafeError } from './errors.ts';
import { isPartName, namesPart, ownerOfPart, partNames } from './parts.ts';
import { type Listed, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore, type Stored } from './ports.ts';
import { FOREVER_MS, isExpired, isLapsed, type RecordId } from './record.ts';

/** Enough to keep a store busy, far below what a partition or a connection pool takes. */
const DELETES_AT_ONCE = 16;

/** Expired, and older than an hour; lapsed only when asked for by an explicit age. Blocked records wait for a person. */
export function isPurgeable({ record, ageMs }: Stored, { lapsedOlderThanMs }: PurgeQuery, uncertaintyMs: number): boolean {
  if (ageMs < PURGE_MIN_AGE_MS) return false;
  if (isExpired(record, ageMs, uncertaintyMs)) return true;
  // A lease row is kept even when its holder died: with it the token would be lost, and tokens only grow.
  if (lapsedOlderThanMs === undefined || record.retentionMs >= FOREVER_MS) return false;
  return isLapsed(record, ageMs, uncertaintyMs) && ageMs - record.leaseMs > lapsedOlderThanMs + uncertaintyMs;
}

/** A record of a later schema is not ours to judge, and must not stop the clean-up of the others. */
export function unlessTooNew<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    if (isRerunSafeError(error, 'RECORD_TOO_NEW')) return [];
    throw error;
  }
}

export type RemovePart = (id: RecordId, name: string) => Promise<unknown>;

/**
 * Whether a part may go: one of ours, older than an hour, and not named by the record as it stands now, nor written by an owner that may still complete.
 * `standing` is read after the part was seen.
 */
export function isOrphan(name: string, ageMs: number, standing: Stored | undefined): boolean {
  // A NaN is no age.
  if (!isPartName(name) || !(ageMs >= PURGE_MIN_AGE_MS)) return false;
  if (standing === undefined) return true;
  const { state, owner, outcome } = standing.record;
  return !namesPart(outcome, name) && !(state === 'running' && owner === ownerOfPart(name));
}

/** The same of a record that has to be read first. */
export async function readUnlessTooNew(read: () => Promise<Stored | undefined>): Promise<[] | [Stored | undefined]> {
  try {
    return [await read()];
  } catch (error) {
    if (isRerunSafeError(error, 'RECORD_TOO_NEW')) return [];
    throw error;
  }
}

/** Removes what is due of what is listed. All deletes of a batch are waited for before a failure is told: none goes on behind the caller's back. */
export async function purgeListed(
  listed: AsyncIterable<Listed>,
  remove: RecordStore['delete'],
  query: PurgeQuery,
  uncertaintyMs: number,
  removePart?: RemovePart,
): Promise<{ removed: number }> {
  /** After the record: one that is still there names them. */
  const removeAll = async ({ id, version, record }: Listed): Promise<boolean> => {
    if (!(await remove(id, version)).ok) return false;
    if (removePart !== undefined) await Promise.all(partNames(record.outcome).map((name) => removePart(id, name)));
    return true;
  };
  const { limit = Number.POSITIVE_INFINITY } = query;
  let removed = 0;
  let due: Listed[] = [];
  const flush = async (): Promise<void> => {
    const results = await Promise.allSettled(due.map(removeAll));
    due = [];
    removed += results.filter((result) => result.status === 'fulfilled' && result.value).length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  if (limit <= 0) return { removed };
  for await (const found of listed) {
    if (!isPurgeable(found, query, uncertaintyMs)) continue;
    due.push(found);
    if (due.length >= Math.min(DELETES_AT_ONCE, limit - removed)) await flush();
    if (removed >= limit) return { removed };
  }
  await flush();
  return { removed };
}
