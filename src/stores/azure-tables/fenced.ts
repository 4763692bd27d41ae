/**
 * Writes to the caller's own entities that a stale holder cannot make: every entity keeps the highest token that has touched it.
 *
 * The check sees a newer holder only once that has touched the entity. So claim first ({@link fencedClaim}), then read what the work depends on.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { TableClient, TableEntity } from '@azure/data-tables';
import { isRerunSafeError, RerunSafeError, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { invalidOptions } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { etagOf } from './entity.ts';
import type { Keys } from './place.ts';
import { type Request, requester } from './request.ts';
import { serviceClock } from './service-clock.ts';

export interface FencedOptions {
  readonly signal?: AbortSignal;
  /** The longest one request may take, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

export interface FencedWritten {
  readonly etag: string;
}

type Entity = Record<string, unknown>;
interface Change {
  readonly mode: 'Merge' | 'Replace';
  readonly columns: Entity;
}

/** Each lost race means that somebody else's write went through; so many in a row have other reasons. */
const ROUNDS = 20;

/** A deleted entity leaves its token behind, so that a stale holder cannot bring it back. Treat such an entity as absent. */
export const isFencedDeletion = (entity: Readonly<Record<string, unknown>> | undefined): boolean => entity?.fenceDeleted === true;

/**
 * Writes an entity, unless a higher token has touched it. Adds the columns `fence` and `fenceWrite`. One entity must be guarded by one lease only:
 * tokens of two cannot be compared.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`; `WRITE_UNKNOWN`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`. An entity
 * that is too large is the SDK's own error.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) => fencedUpsert(client, lease.fence, { partitionKey: 'reports', rowKey: 'today', total: 7 }));
 */
export async function fencedUpsert<T extends object>(
  client: TableClient,
  fence: Fence,
  entity: TableEntity<T>,
  options: FencedOptions & {
    /** `Merge` (default, as in the SDK) keeps the columns that are not given; `Replace` does not. */
    readonly mode?: 'Merge' | 'Replace';
  } = {},
): Promise<FencedWritten> {
  const { mode = 'Merge' } = options;
  const { etag } = await fencedWrite(client, fence, entity, options, (standing) => ({
    // Merging into what a deletion left behind would keep its mark.
    mode: isFencedDeletion(standing) ? 'Replace' : mode,
    columns: entity as Entity,
  }));
  return { etag };
}

/**
 * Sets the fence and returns the entity as it stood at that moment, in one conditional write: from then on lower tokens are refused. Claiming what does
 * not exist leaves a mark (see {@link isFencedDeletion}) and returns `entity: undefined`.
 *
 * @throws RerunSafeError as {@link fencedUpsert}.
 *
 * @example const { entity } = await fencedClaim<{ total: number }>(client, lease.fence, { partitionKey: 'reports', rowKey: 'today' });
 */
export async function fencedClaim<T extends object = Record<string, unknown>>(
  client: TableClient,
  fence: Fence,
  keys: { readonly partitionKey: string; readonly rowKey: string },
  options: FencedOptions = {},
): Promise<FencedWritten & { readonly entity: TableEntity<T> | undefined }> {
  const { etag, standing } = await fencedWrite(client, fence, keys, options, (found) => ({
    mode: 'Merge',
    columns: found === undefined ? { fenceDeleted: true } : {},
  }));
  return { etag, entity: isFencedDeletion(standing) ? undefined : (standing as TableEntity<T> | undefined) };
}

/**
 * Deletes an entity, unless a higher token has touched it. In its place stay the keys, `fence` and `fenceDeleted: true`.
 *
 * @throws RerunSafeError as {@link fencedUpsert}.
 */
export async function fencedDelete(
  client: TableClient,
  fence: Fence,
  keys: { readonly partitionKey: string; readonly rowKey: string },
  options: FencedOptions = {},
): Promise<FencedWritten> {
  const { etag } = await fencedWrite(client, fence, keys, options, () => ({ mode: 'Replace', columns: { fenceDeleted: true } }));
  return { etag };
}

async function fencedWrite(
  client: TableClient,
  fence: Fence,
  { partitionKey, rowKey }: Keys,
  { signal, requestTimeoutMs = 5_000 }: FencedOptions,
  change: (standing: Entity | undefined) => Change,
): Promise<FencedWritten & { readonly standing: Entity | undefined }> {
  const { token } = fence;
  if (!Number.isSafeInteger(token) || token < 0) throw invalidOptions('fenced write', ['the token of the fence must be a whole number']);
  const request = requester(() => Promise.resolve(client), requestTimeoutMs, serviceClock());
  // One nonce for the whole call: a write whose answer was lost comes back as a conflict, and is recognised by it.
  const marks = { fence: { type: 'Int64', value: String(token) }, fenceWrite: randomUUID() };
  let doubt: unknown;
  for (let round = 1; round <= ROUNDS; round++) {
    const standing = await read(request, { partitionKey, rowKey }, doubt, signal);
    if (standing?.fenceWrite === marks.fenceWrite) return { etag: etagOf(standing), standing };
    refuseStale(fence, standing);
    const { mode, columns } = change(standing);
    const next = { ...columns, ...marks, partitionKey, rowKey };
    try {
      const answer = await request(
        'fenced write',
        'write',
        (table, sdk) => (standing === undefined ? table.createEntity(next, sdk) : table.updateEntity(next, mode, { ...sdk, etag: etagOf(standing) })),
        signal,
      );
      if (answer.refused === undefined) return { etag: etagOf(answer.value as unknown as Entity), standing };
      if (answer.refused === 'too-large') throw answer.cause;
    } catch (error) {
      if (!isRerunSafeError(error, 'WRITE_UNKNOWN')) throw error;
      doubt = error;
    }
  }
  throw doubt ?? storeUnavailable(`an entity guarded by ${fence.id} was changed by others ${ROUNDS} times in a row`, undefined);
}

async function read(request: Request, { partitionKey, rowKey }: Keys, doubt: unknown, signal?: AbortSignal): Promise<Entity | undefined> {
  try {
    const answer = await request('read an entity', 'harmless', (table, sdk) => table.getEntity<Entity>(partitionKey, rowKey, sdk), signal);
    if (answer.refused === undefined) return answer.value;
    if (answer.refused === 'absent') return undefined;
    throw storeUnavailable('read an entity', answer.cause);
  } catch (error) {
    if (doubt !== undefined) throw writeUnknown('a fenced write could not be looked up', error);
    throw error;
  }
}

function refuseStale({ id, token }: Fence, standing: Entity | undefined): void {
  const stored = standing?.fence;
  const storedToken = typeof stored === 'bigint' ? Number(stored) : stored;
  if (typeof storedToken !== 'number' || storedToken <= token) return;
  throw new RerunSafeError('STALE_TOKEN', `A newer holder of ${id} has touched this entity (token ${storedToken}, ours is ${token}).`, {
    facts: { id, token, storedToken },
  });
}
