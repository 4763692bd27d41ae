/**
 * Acquiring: the lease first, then, under it, the token. Nothing is handed out before the token is confirmed.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import type { Acquired } from '../../core/ports.ts';
import { elapsedMs, type Instant, pause, realSystem } from '../../core/system.ts';
import type { Sent } from './call.ts';
import { type Grants, now } from './grants.ts';
import type { LeaseBlob } from './lease-blob.ts';
import { toError } from './map-error.ts';
import { composeMetadata, nextToken, parseMetadata } from './metadata.ts';

export interface Wanted {
  readonly owner: string;
  readonly seconds: number;
  readonly label: string | undefined;
  readonly slot: number | undefined;
}

/** Writes of the token that may end in doubt before we say so. */
const MAX_DOUBTS = 3;
/** A seed needs the service's next second: at most one second away, read ten times a second. */
const MAX_SEED_READS = 20;
const CREATE_TRIES = 3;

/** `parting`: the same blob, with requests that the caller's signal does not stop and that end soon. */
export async function acquire(
  blob: LeaseBlob,
  parting: LeaseBlob,
  grants: Grants,
  wanted: Wanted,
  signal: AbortSignal | undefined,
): Promise<Acquired> {
  const sentAt = now();
  if (!(await takeLease(blob, wanted))) return { kind: 'held' };
  const seen: { etag?: string } = {};
  let keep = false;
  try {
    const acquired = await claimToken(blob, grants, wanted, sentAt, seen, signal);
    keep = acquired.kind === 'acquired';
    return acquired;
  } finally {
    // Best effort: what cannot be given back runs out by itself, and neither the answer nor the error may be lost over it. On condition of the ETag
    // before our token: should the same owner ask again and succeed meanwhile, a late copy of this must not free what it then holds.
    if (!keep && seen.etag !== undefined) await parting.release(wanted.owner, seen.etag);
  }
}

/** The lease id is the owner, so a request that is sent again (by us or inside the SDK) gets the lease that its first copy got. */
async function takeLease(blob: LeaseBlob, { owner, seconds }: Wanted): Promise<boolean> {
  for (let tries = 0; tries < CREATE_TRIES; tries += 1) {
    const leased = await blob.acquire(owner, seconds);
    if (leased.ok) return true;
    if (leased.kind === 'held') return false;
    if (leased.kind !== 'no-blob') throw toError('acquire the lease', leased);
    const created = await blob.create();
    // 'exists' is the answer to a race, and to our own request whose answer was lost.
    if (!created.ok && created.kind !== 'exists' && created.kind !== 'leased') throw toError('create the lease blob', created);
  }
  throw storeUnavailable('the lease blob is deleted as often as it is made', undefined);
}

async function claimToken(
  blob: LeaseBlob,
  grants: Grants,
  wanted: Wanted,
  sentAt: Instant,
  seen: { etag?: string },
  signal: AbortSignal | undefined,
): Promise<Acquired> {
  const { owner, seconds, label, slot } = wanted;
  const give = (token: number, etag: string, lastSlot: number | undefined): Acquired => {
    // The service's lease began after `sentAt`, so this is early at worst. Beyond it another may be at work already.
    if (elapsedMs(sentAt, realSystem.clock) >= seconds * 1000) throw ended(undefined);
    grants.set(owner, { token, etag, seconds, sentAt });
    return { kind: 'acquired', token, ...(lastSlot === undefined ? {} : { lastSlot }) };
  };
  let doubts = 0;
  for (let seedReads = 0; ; ) {
    const read = await blob.properties(owner);
    if (!read.ok) throw read.kind === 'not-holder' || read.kind === 'no-blob' ? ended(read) : toError('read the token', read);
    const { metadata, serviceMs, etag } = read.value;
    // Where our own token stands already, it may have been handed out to an earlier copy of this call: then nothing is given back on an error.
    if (metadata.holder !== owner) seen.etag ??= etag;
    const standing = parseMetadata(metadata);
    const { lastSlot, holdUntilMs } = standing;
    if (slot !== undefined && lastSlot !== undefined && slot <= lastSlot) {
      seen.etag = etag;
      return slot === lastSlot ? { kind: 'slot-done' } : { kind: 'slot-passed', lastSlot };
    }
    if (holdUntilMs !== undefined && serviceMs < holdUntilMs) {
      seen.etag = etag;
      return {
        kind: 'held',
        retryAfterMs: holdUntilMs - serviceMs,
        ...(standing.label === undefined ? {} : { label: standing.label }),
        ...(lastSlot === undefined ? {} : { lastSlot }),
      };
    }
    // Our own token: this is the same acquisition again, or the answer to the write below was lost. No second one.
    if (standing.holder === owner && standing.token !== undefined) return give(standing.token, etag, lastSlot);

    const token = nextToken(standing.token, serviceMs, read.value.lastModifiedMs);
    if (token === undefined) {
      if (++seedReads > MAX_SEED_READS) throw storeUnavailable("the service's clock does not move on", undefined);
      // Nearly always one pause: up to the next second by our clock, then in small steps, should the clocks differ.
      await pause(realSystem, seedReads === 1 ? 1010 - (Date.now() % 1000) : 100, signal).catch((reason) => {
        throw storeUnavailable('the call was given up', reason);
      });
      continue;
    }
    const next = { token, holder: owner, label, leaseSeconds: seconds, lastSlot };
    const written = await blob.setMetadata(composeMetadata(metadata, next), { leaseId: owner, ifMatch: etag });
    if (written.ok) return give(token, written.value, lastSlot);
    if (written.kind === 'not-holder' || written.kind === 'no-blob') throw ended(written);
    // 'changed' can be our own first copy, sent again inside the SDK. Only what stands there can tell.
    const mayStand = written.kind === 'changed' || written.kind === 'unknown' || written.kind === 'unavailable';
    if (!mayStand || ++doubts >= MAX_DOUBTS) throw toError('write the token', written);
  }
}

/** Nobody was told that they have it, so nothing has to be undone; the number that may have been used up is no loss. */
const ended = (cause: Sent<unknown> | undefined) =>
  storeUnavailable('the lease ended before its token was confirmed', cause?.ok === false ? cause.error : undefined);
