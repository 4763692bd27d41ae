/**
 * The four operations on a record, at one place in the table.
 *
 * @module
 */
import { isRerunSafeError, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import type { CallOptions, Conflict, RecordStore, Stored, Written } from '../../core/ports.ts';
import type { RecordId } from '../../core/record.ts';
import { etagOf, fromEntity, isTooLarge, toEntity } from './entity.ts';
import type { Refusal } from './map-error.ts';
import { type Keys, keysIn, type Place } from './place.ts';
import type { Request } from './request.ts';

/** The service takes 1 MiB of values; Azurite takes 1 MiB of the JSON they travel in, where bytes are a third longer. This suits both. */
export const MAX_RECORD_BYTES = 720 * 1024;
/** A row that is refused and then not found was removed in between. That it happens three times in a row has other reasons. */
const CREATE_ROUNDS = 3;

export type Records = Pick<RecordStore, 'read' | 'create' | 'replace' | 'delete'>;

export function recordsAt(request: Request, place: Place): Records {
  const read: RecordStore['read'] = (id, call) => readAt(request, keysIn(place, id), call);

  const create: RecordStore['create'] = async (id, record, call) => {
    const entity = toEntity(keysIn(place, id), record);
    if (isTooLarge(entity, MAX_RECORD_BYTES)) return TOO_LARGE;
    for (let round = 1; ; round++) {
      const answer = await request('create a record', 'write', (client, sdk) => client.createEntity(entity, sdk), call?.signal);
      if (answer.refused === undefined) return written(answer.value);
      if (answer.refused === 'too-large') return TOO_LARGE;
      const current = await standing(read, id, answer, call);
      if (current !== undefined || round === CREATE_ROUNDS) return { ok: false, reason: 'conflict', current };
    }
  };

  const replace: RecordStore['replace'] = async (id, record, version, call) => {
    const entity = toEntity(keysIn(place, id), record);
    if (isTooLarge(entity, MAX_RECORD_BYTES)) return TOO_LARGE;
    // The SDK's own default is `*`: whatever stands there.
    const update = { etag: version };
    const answer = await request(
      'replace a record',
      'write',
      (client, sdk) => client.updateEntity(entity, 'Replace', { ...sdk, ...update }),
      call?.signal,
    );
    if (answer.refused === undefined) return written(answer.value);
    return answer.refused === 'too-large' ? TOO_LARGE : conflict(await standing(read, id, answer, call));
  };

  const remove: RecordStore['delete'] = async (id, version, call) => {
    const { partitionKey, rowKey } = keysIn(place, id);
    const drop = { etag: version };
    const answer = await request(
      'delete a record',
      'write',
      (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, ...drop }),
      call?.signal,
    );
    return answer.refused === undefined ? { ok: true, version } : conflict(await standing(read, id, answer, call));
  };

  return { read, create, replace, delete: remove };
}

export async function readAt(request: Request, { partitionKey, rowKey }: Keys, call?: CallOptions): Promise<Stored | undefined> {
  const answer = await request('read a record', 'harmless', (client, sdk) => client.getEntity(partitionKey, rowKey, sdk), call?.signal);
  if (answer.refused === 'absent') return undefined;
  if (answer.refused !== undefined) throw storeUnavailable('read a record', answer.cause);
  const record = fromEntity(answer.value);
  return { record, version: etagOf(answer.value), ageMs: Math.max(0, answer.dateMs - record.writtenAtMs) };
}

export const TOO_LARGE = { ok: false, reason: 'too-large' } as const;
const written = (headers: object): Written => ({ ok: true, version: etagOf(headers as Record<string, unknown>) });
export const conflict = (current: Stored | undefined): Conflict => ({ ok: false, reason: 'conflict', current });

async function standing(read: Records['read'], id: RecordId, refusal: Refusal, call?: CallOptions): Promise<Stored | undefined> {
  return refusal.refused === 'absent' ? undefined : readAfter(read, id, call);
}

/** What stands there after a refusal. The network may have delivered the write twice: where this cannot be looked up, it is in doubt. */
export async function readAfter(read: Records['read'], id: RecordId, call?: CallOptions): Promise<Stored | undefined> {
  try {
    return await read(id, call);
  } catch (error) {
    if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw writeUnknown('a refused write could not be looked up', error);
    throw error;
  }
}
