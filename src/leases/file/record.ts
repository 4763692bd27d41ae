/**
 * What a lock file remembers, and what that means for who asks. Pure.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';
import type { Acquired } from '../../core/ports.ts';
import type { Owner } from '../../core/record.ts';
import { elapsedSinceMs, type Stamp } from './stamp.ts';

export interface LeaseRecord {
  /** For people: the file's own name is a hash. */
  readonly name: string;
  readonly token: number;
  /** `held` may outlive its holder: whether it does, the kernel's lock tells. */
  readonly state: 'held' | 'released';
  readonly owner?: Owner;
  readonly label?: string;
  /** Of a released one: the minimum hold. */
  readonly leaseMs: number;
  /** When it was acquired or released. */
  readonly at: Stamp;
  readonly lastSlot?: number;
}

/** Of a renewal, beside the record. For people only: it may be missing or torn. */
export interface Renewed {
  readonly token: number;
  readonly leaseMs: number;
  readonly at: Stamp;
}

export function isLeaseRecord(body: unknown): body is LeaseRecord {
  const { token, state, leaseMs, at, owner, label, lastSlot } = (body ?? {}) as Partial<LeaseRecord>;
  const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string';
  return (
    Number.isSafeInteger(token) &&
    (state === 'held' || state === 'released') &&
    Number.isFinite(leaseMs) &&
    Number.isFinite(at?.wallMs) &&
    Number.isFinite(at?.upMs) &&
    isTextOrNone(owner) &&
    isTextOrNone(label) &&
    (lastSlot === undefined || Number.isSafeInteger(lastSlot))
  );
}

export const leftMs = ({ leaseMs, at }: Pick<LeaseRecord, 'leaseMs' | 'at'>, now: Stamp): number => Math.ceil(leaseMs - elapsedSinceMs(at, now));

/** What the holder still has, as far as it has told. 0: overdue. */
export function heldForMs(record: LeaseRecord, renewed: unknown, now: Stamp): number {
  const last = renewed as Renewed | undefined;
  return Math.max(0, leftMs(last?.token === record.token ? last : record, now));
}

/**
 * Also where the file was deleted, or the wall clock set back a little.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`: there is none. To begin anew by itself would let the stores refuse every later holder.
 */
export function nextToken(record: Pick<LeaseRecord, 'token'> | undefined, now: Stamp): number {
  const token = Math.max((record?.token ?? 0) + 1, now.wallMs);
  if (Number.isSafeInteger(token)) return token;
  throw storeMisconfigured(
    `the lock file has the token ${record?.token}, above which there is none; no lease gives out such a one. Use a lease of another name, or, if no store was ever written to with that token, stop all who use this one and delete its file.`,
  );
}

export type AcquireDecision = { readonly kind: 'claim'; readonly token: number } | Exclude<Acquired, { kind: 'acquired' }>;

/** For somebody who has the kernel's lock: whoever stands there as the holder is dead, late or gone. */
export function decideAcquire(standing: LeaseRecord | undefined, { slot }: { readonly slot: number | undefined }, now: Stamp): AcquireDecision {
  const { lastSlot } = standing ?? {};
  if (standing?.state === 'released' && leftMs(standing, now) > 0) return heldAnswer(standing, leftMs(standing, now));
  if (slot !== undefined && lastSlot === slot) return { kind: 'slot-done' };
  if (slot !== undefined && lastSlot !== undefined && lastSlot > slot) return { kind: 'slot-passed', lastSlot };
  return { kind: 'claim', token: nextToken(standing, now) };
}

/** An overdue holder gives no hint: it is stopped, and nobody knows for how long. */
export const heldAnswer = ({ label, lastSlot }: Pick<LeaseRecord, 'label' | 'lastSlot'>, forMs: number): Extract<Acquired, { kind: 'held' }> => ({
  kind: 'held',
  ...(forMs > 0 ? { retryAfterMs: forMs } : {}),
  ...(label === undefined ? {} : { label }),
  ...(lastSlot === undefined ? {} : { lastSlot }),
});

export const claimed = (
  standing: LeaseRecord | undefined,
  { name, owner, label, leaseMs }: { name: string; owner: Owner; label: string | undefined; leaseMs: number },
  token: number,
  at: Stamp,
): LeaseRecord => ({
  name,
  token,
  state: 'held',
  owner,
  ...(label === undefined || label === '' ? {} : { label }),
  leaseMs,
  at,
  ...slotOf(standing?.lastSlot),
});

/** The token stays. The mark never goes back. */
export function released(standing: LeaseRecord, { slotDone, holdMs }: { slotDone: number | undefined; holdMs: number }, at: Stamp): LeaseRecord {
  const lastSlot = slotDone === undefined ? standing.lastSlot : Math.max(slotDone, standing.lastSlot ?? slotDone);
  return { ...standing, state: 'released', leaseMs: Math.ceil(holdMs), at, ...slotOf(lastSlot) };
}

/** Free, with no minimum hold, and of a higher token than any of those that are known to have been given out. */
export function broken(name: string, known: readonly (LeaseRecord | undefined)[], at: Stamp): LeaseRecord {
  const records = known.filter((record) => record !== undefined);
  const slots = records.map(({ lastSlot }) => lastSlot).filter((slot) => slot !== undefined);
  const token = Math.max(...[undefined, ...records].map((record) => nextToken(record, at)));
  return { name, token, state: 'released', leaseMs: 0, at, ...slotOf(slots.length === 0 ? undefined : Math.max(...slots)) };
}

const slotOf = (lastSlot: number | undefined): { lastSlot?: number } => (lastSlot === undefined ? {} : { lastSlot });
