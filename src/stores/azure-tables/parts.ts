/**
 * Parts of large outcomes, each a row of its own. They lie in partitions of their own: whoever looks through the records does not load them.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { storeUnavailable } from '../../core/errors.ts';
import { PURGE_MIN_AGE_MS, type RecordStore, type Stored } from '../../core/ports.ts';
import { isOrphan, type RemovePart, readUnlessTooNew } from '../../core/purge.ts';
import { fromChunks, timestampMs, toChunks } from './entity.ts';
import { type Keys, keysIn, type Place } from './place.ts';
import type { Request } from './request.ts';

const PREFIX = 'rerunsafe.part';
/** The first prefix behind all of ours, for range filters. */
const PREFIX_END = 'rerunsafe.paru';
/** 720 KiB is what both the service and Azurite take. */
export const PART_LIMITS = { bytesEach: 640_000, most: 24 };
const BYTES = 'part';

/** A name never comes again, whatever record it is of. */
function keysOfPart(name: string): Keys {
  const bucket = createHash('sha256').update(name).digest('hex').slice(0, 2);
  return { partitionKey: `${PREFIX}${bucket}`, rowKey: name };
}

export function partsAt(request: Request, place: Place): Required<Pick<RecordStore, 'putPart' | 'readPart'>> {
  return {
    async putPart(id, name, bytes, call) {
      const { partitionKey: recordPartition, rowKey: recordRow } = keysIn(place, id);
      const entity = { ...toChunks(bytes, BYTES), recordPartition, recordRow, ...keysOfPart(name) };
      const answer = await request('put a part', 'write', (client, sdk) => client.upsertEntity(entity, 'Replace', sdk), call.signal);
      if (answer.refused !== undefined) throw storeUnavailable('put a part', answer.cause);
    },
    async readPart(_, name, call) {
      const { partitionKey, rowKey } = keysOfPart(name);
      const answer = await request('read a part', 'harmless', (client, sdk) => client.getEntity(partitionKey, rowKey, sdk), call?.signal);
      if (answer.refused === 'absent') return undefined;
      if (answer.refused !== undefined) throw storeUnavailable('read a part', answer.cause);
      return fromChunks(answer.value, BYTES) ?? new Uint8Array();
    },
  };
}

export const partRemover =
  (request: Request): RemovePart =>
  async (_, name) => {
    const { partitionKey, rowKey } = keysOfPart(name);
    const answer = await request('delete a part', 'write', (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, etag: '*' }));
    if (answer.refused !== undefined && answer.refused !== 'absent') throw storeUnavailable('delete a part', answer.cause);
  };

interface PartRow {
  readonly rowKey: string;
  readonly recordPartition?: unknown;
  readonly recordRow?: unknown;
}

/** Reads the keys of all parts, and the record of each that is older than an hour. `standing`: by the record's own keys. */
export async function removeOrphans(request: Request, standing: (keys: Keys) => Promise<Stored | undefined>): Promise<void> {
  const remove = partRemover(request);
  const { odata } = await import('@azure/data-tables');
  const queryOptions = {
    filter: odata`PartitionKey ge ${PREFIX} and PartitionKey lt ${PREFIX_END}`,
    select: ['PartitionKey', 'RowKey', 'Timestamp', 'recordPartition', 'recordRow'],
  };
  let continuationToken: string | undefined;
  do {
    const from = continuationToken === undefined ? {} : { continuationToken };
    const page = await request('list parts', 'harmless', async (client, sdk) => {
      const { value } = await client
        .listEntities<PartRow>({ ...sdk, queryOptions })
        .byPage(from)
        .next();
      return { rows: [...(value ?? [])], next: value?.continuationToken };
    });
    if (page.refused !== undefined) throw storeUnavailable('list parts', page.cause);
    for (const row of page.value.rows) {
      const { rowKey: name, recordPartition: partitionKey, recordRow: rowKey } = row;
      const ageMs = page.dateMs - timestampMs(row as unknown as Record<string, unknown>);
      if (ageMs < PURGE_MIN_AGE_MS || typeof partitionKey !== 'string' || typeof rowKey !== 'string') continue;
      for (const record of await readUnlessTooNew(() => standing({ partitionKey, rowKey }))) {
        if (isOrphan(name, ageMs, record)) await remove(rowKey, name);
      }
    }
    continuationToken = page.value.next;
  } while (continuationToken !== undefined);
}
