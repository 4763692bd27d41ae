/**
 * What a holder does with its lease: renew it, mark what it did, give it back.
 *
 * @module
 */
import { elapsedMs, realSystem } from '../../core/system.ts';
import type { Sent } from './call.ts';
import { type Grant, type Grants, now } from './grants.ts';
import type { LeaseBlob } from './lease-blob.ts';
import { type FailureKind, toError } from './map-error.ts';
import { composeMetadata, holdUntil, parseMetadata } from './metadata.ts';

export interface Holder {
  readonly owner: string;
  readonly token: number;
}

/** Definite: this owner has the lease no more. */
const LOST: ReadonlySet<FailureKind> = new Set(['not-holder', 'changed', 'held', 'no-blob', 'no-container']);
const MAX_DOUBTS = 3;

/**
 * The service renews a lease that ran out as long as nobody leased or wrote to the blob since, and an emulator may not even compare the lease id
 * then. So the renewal is also on condition of the ETag that our token was written with: every takeover changes it.
 * A renewal changes nothing else and may be sent any number of times.
 */
export async function renew(blob: LeaseBlob, grants: Grants, holder: Holder, seconds: number): Promise<'renewed' | 'lost'> {
  const { owner } = holder;
  const grant = grants.get(owner) ?? (await recall(blob, owner));
  if (grant === undefined || grant.token !== holder.token) return 'lost';
  // The service would still allow it. But a holder past its deadline may have been told so already, and lost is final.
  if (grant.sentAt !== undefined && elapsedMs(grant.sentAt, realSystem.clock) >= grant.seconds * 1000) return 'lost';
  const lost = (): 'lost' => {
    grants.delete(owner);
    return 'lost';
  };
  let sentAt = now();
  const renewed = await blob.renew(owner, grant.etag);
  if (!renewed.ok) {
    if (LOST.has(renewed.kind)) return lost();
    throw toError('renew the lease', renewed);
  }
  if (seconds > grant.seconds) {
    // A renewal keeps the old length, and the holder would count on more than it has. Only acquiring again with the same id makes it longer.
    sentAt = now();
    const longer = await blob.acquire(owner, seconds, grant.etag);
    if (!longer.ok) {
      if (LOST.has(longer.kind)) return lost();
      throw toError('make the lease longer', longer);
    }
  }
  grants.set(owner, { ...grant, seconds: Math.max(seconds, grant.seconds), sentAt });
  return 'renewed';
}

/** A lease that another process acquired: what it wrote stands in the blob. */
async function recall(blob: LeaseBlob, owner: string): Promise<Grant | undefined> {
  const read = await blob.properties();
  if (!read.ok) {
    if (LOST.has(read.kind)) return undefined;
    throw toError('read the lease', read);
  }
  const { token, holder, leaseSeconds } = parseMetadata(read.value.metadata);
  if (holder !== owner || token === undefined || read.value.leaseState !== 'leased') return undefined;
  return { token, etag: read.value.etag, seconds: leaseSeconds ?? 0 };
}

export interface Marks {
  readonly slotDone: number | undefined;
  readonly holdMs: number;
}

export async function release(blob: LeaseBlob, grants: Grants, holder: Holder, marks: Marks): Promise<'released' | 'lost'> {
  const { owner } = holder;
  // The owner alone decides: an acquisition in doubt is given back by a caller that was never told its token.
  const grant = grants.get(owner);
  let etag = grant?.etag;
  if (marks.slotDone !== undefined || marks.holdMs > 0) {
    etag = await mark(blob, holder, marks);
    if (etag === undefined) {
      grants.delete(owner);
      return 'lost';
    }
    if (grant !== undefined) grants.set(owner, { ...grant, etag });
  }
  const released = await blob.release(owner, etag);
  if (!released.ok && !LOST.has(released.kind)) throw toError('release the lease', released);
  grants.delete(owner);
  if (released.ok) return 'released';
  return (await wasOurs(blob, holder, released, grant)) ? 'released' : 'lost';
}

/**
 * Writes the marks while the lease is still ours; answers the new ETag, or undefined where it was lost. Before the release: afterwards another
 * could read the blob without them.
 */
async function mark(blob: LeaseBlob, { owner, token }: Holder, { slotDone, holdMs }: Marks): Promise<string | undefined> {
  for (let doubts = 0; ; ) {
    const read = await blob.properties();
    if (!read.ok) {
      if (LOST.has(read.kind)) return undefined;
      throw toError('read the lease', read);
    }
    const { metadata, etag, serviceMs } = read.value;
    const standing = parseMetadata(metadata);
    if (standing.holder !== owner || standing.token !== token) return undefined;
    const lastSlot = slotDone === undefined ? standing.lastSlot : Math.max(slotDone, standing.lastSlot ?? slotDone);
    // A new holder clears the hold, so one that stands beside our name is ours: the answer to an earlier send was lost.
    const holdUntilMs = holdMs > 0 ? (standing.holdUntilMs ?? holdUntil(serviceMs, holdMs)) : standing.holdUntilMs;
    if (lastSlot === standing.lastSlot && holdUntilMs === standing.holdUntilMs) return etag;
    const written = await blob.setMetadata(composeMetadata(metadata, { ...standing, lastSlot, holdUntilMs }), { leaseId: owner, ifMatch: etag });
    if (written.ok) return written.value;
    if (written.kind === 'not-holder' || written.kind === 'no-blob' || written.kind === 'no-container') return undefined;
    const mayStand = written.kind === 'changed' || written.kind === 'unknown' || written.kind === 'unavailable';
    if (!mayStand || ++doubts >= MAX_DOUBTS) throw toError('mark the lease', written);
  }
}

/** "Not yours" and, where a successor has written already, "changed" are also the answers to a second copy of our own release. */
async function wasOurs(blob: LeaseBlob, { owner }: Holder, answer: Sent<unknown>, grant: Grant | undefined): Promise<boolean> {
  const sentAt = grant?.sentAt;
  // A lease that cannot have run out, and an earlier copy without an answer: it was that copy. A successor may be there already.
  const stillRan = grant !== undefined && sentAt !== undefined && elapsedMs(sentAt, realSystem.clock) < grant.seconds * 1000;
  if (answer.doubt && stillRan) return true;
  const read = await blob.properties();
  if (!read.ok) return false;
  return parseMetadata(read.value.metadata).holder === owner && read.value.leaseState === 'available';
}
