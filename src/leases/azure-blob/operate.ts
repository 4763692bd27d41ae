/**
 * For operators: look at a lease, free it.
 *
 * @module
 */
import { storeUnavailable, writeUnknown } from '../../core/errors.ts';
import type { LeaseState } from '../../core/ports.ts';
import { pause, realSystem } from '../../core/system.ts';
import type { LeaseBlob } from './lease-blob.ts';
import { toError } from './map-error.ts';
import { composeMetadata, nextToken, parseMetadata } from './metadata.ts';

/**
 * The service does not tell whose a lease is, nor how long it still runs. In the moment between a lease and its token, `owner` and `token` are
 * those of the one before.
 */
export async function read(blob: LeaseBlob): Promise<LeaseState | undefined> {
  const answer = await blob.properties();
  if (!answer.ok) {
    if (answer.kind === 'no-blob') return undefined;
    throw toError('read the lease', answer);
  }
  const { token = 0, holder, label, lastSlot, holdUntilMs = 0 } = parseMetadata(answer.value.metadata);
  const leased = answer.value.leaseState === 'leased' || answer.value.leaseState === 'breaking';
  const holdLeftMs = Math.max(0, holdUntilMs - answer.value.serviceMs);
  const held = leased || holdLeftMs > 0;
  return {
    held,
    token,
    ...(leased && holder !== undefined ? { owner: holder } : {}),
    ...(held && label !== undefined ? { label } : {}),
    ...(!leased && holdLeftMs > 0 ? { remainingMs: holdLeftMs } : {}),
    ...(lastSlot === undefined ? {} : { lastSlot }),
  };
}

const MAX_ROUNDS = 30;
const ROUND_PAUSE_MS = 100;

/** Ends the lease and a minimum hold, and makes sure that the token has grown: breaking alone would leave the old holder's writes valid. */
export async function breakLease(blob: LeaseBlob, signal: AbortSignal | undefined): Promise<void> {
  const before = await blob.properties();
  if (!before.ok) {
    if (before.kind === 'no-blob') return;
    throw toError('read the lease', before);
  }
  const oldToken = parseMetadata(before.value.metadata).token ?? 0;
  const broken = await blob.breakNow();
  // 'not-holder': there was no lease. Its last holder may still be at work, so the token grows all the same.
  if (!broken.ok && broken.kind !== 'not-holder') {
    if (broken.kind === 'no-blob') return;
    throw toError('break the lease', broken);
  }
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const now = await blob.properties();
    if (!now.ok) {
      if (now.kind === 'no-blob') return;
      throw toError('read the token', { ...now, doubt: true });
    }
    const standing = parseMetadata(now.value.metadata);
    // Ours, sent twice; or a new holder's, which fences the old one just as well.
    if ((standing.token ?? 0) > oldToken) return;
    const token = nextToken(standing.token, now.value.serviceMs, now.value.lastModifiedMs);
    if (token !== undefined) {
      const written = await blob.setMetadata(composeMetadata(now.value.metadata, { token, lastSlot: standing.lastSlot }), {
        ifMatch: now.value.etag,
      });
      if (written.ok) return;
      const again = written.kind === 'changed' || written.kind === 'leased' || written.kind === 'unknown' || written.kind === 'unavailable';
      if (!again) throw toError('raise the token', { ...written, doubt: true });
      if (written.kind === 'changed') continue;
    }
    // A new holder's token is on its way, or the seed needs the service's next second.
    await pause(realSystem, ROUND_PAUSE_MS, signal).catch((reason) => {
      throw storeUnavailable('the call was given up', reason);
    });
  }
  throw writeUnknown('the lease was broken, but its token has not grown: its old holder is not fenced yet', undefined);
}
