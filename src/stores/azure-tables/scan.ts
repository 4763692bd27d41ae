/**
 * Looking through the whole table, and removing what has expired. Table Storage has no index but its keys: for people, sweepers and clean-up only.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { type Conflict, type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore, type Written } from '../../core/ports.ts';
import { purgeListed, unlessTooNew } from '../../core/purge.ts';
import { etagOf, fromEntity, timestampMs } from './entity.ts';
import { isMarks, isRecordRow } from './fence-rows.ts';
import type { Refusal } from './map-error.ts';
import { partRemover, removeOrphans } from './parts.ts';
import { type Keys, PARTITION_END, PARTITION_PREFIX, PINNED_END, PINNED_PREFIX, type Place, placed } from './place.ts';
import { readAt } from './records.ts';
import type { Answer, Request } from './request.ts';

type Entity = Record<string, unknown>;
type Odata = typeof import('@azure/data-tables').odata;
interface Page {
  readonly entities: readonly Entity[];
  readonly next: string | undefined;
}
interface Found {
  readonly records: readonly Entity[];
  /** Of fenced transactions. */
  readonly marks: readonly Entity[];
  readonly dateMs: number;
}

export interface Table {
  readonly request: Request;
  readonly uncertaintyMs: number;
  readonly place: Place;
  nowMs(): number;
}

/** A record in a partition of the caller's is found and changed there only: `store.inPartition(partitionKey)`. */
export interface ListedInTable extends Listed {
  /** Of the caller's, that the record is pinned to. */
  readonly partitionKey?: string;
}

export async function* list(table: Table, query: ListQuery): AsyncGenerator<ListedInTable> {
  for await (const page of pages(table, query)) {
    for (const entity of page.records) {
      const found = toListed(entity, page.dateMs);
      if (query.olderThanMs === undefined || found.ageMs > query.olderThanMs) yield found;
    }
  }
}

export async function purge(table: Table, query: PurgeQuery): Promise<{ removed: number }> {
  const { request, place, uncertaintyMs } = table;
  const remove: RecordStore['delete'] = (address, version) => removeAt(table, address, version);
  const result = await purgeListed(purgeable(table, query), remove, query, uncertaintyMs, partRemover(request));
  // Nor does a part say what operation it is of.
  if (!('partitionKey' in place) && query.operation === undefined) await removeOrphans(request, (keys) => readAt(request, keys));
  return result;
}

async function* purgeable(table: Table, { operation }: PurgeQuery): AsyncGenerator<Listed> {
  for await (const { records, marks, dateMs } of pages(table, { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS })) {
    // The same id may stand in several partitions: what is removed is the row that was seen.
    for (const entity of records) yield* unlessTooNew(() => ({ ...toListed(entity, dateMs), id: addressOf(entity) }));
    for (const entity of marks) if (dateMs - timestampMs(entity) > PURGE_MIN_AGE_MS) await removeMarks(table, entity);
  }
}

const addressOf = ({ partitionKey, rowKey }: Entity): string => JSON.stringify([partitionKey, rowKey]);

async function removeAt({ request }: Table, address: string, etag: string): Promise<Written | Conflict> {
  const [partitionKey, rowKey] = JSON.parse(address) as [string, string];
  const answer = await request('delete a record', 'write', (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, etag }));
  return answer.refused === undefined ? { ok: true, version: etag } : { ok: false, reason: 'conflict', current: undefined };
}

/** Looked for only while their call is under way. */
async function removeMarks({ request }: Table, entity: Entity): Promise<void> {
  const { partitionKey, rowKey } = entity as { partitionKey: string; rowKey: string };
  // Refused: a transaction has just landed, and left its own.
  await request('remove marks', 'write', (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, etag: etagOf(entity) }));
}

const toListed = (entity: Entity, dateMs: number): ListedInTable => {
  const record = fromEntity(entity);
  return { ...placed(entity as unknown as Keys), record, version: etagOf(entity), ageMs: Math.max(0, dateMs - record.writtenAtMs) };
};

/** Page by page and not by the SDK's own iterator: its one abort signal would bound the whole listing. */
async function* pages(table: Table, query: ListQuery): AsyncGenerator<Found> {
  const { odata } = await import('@azure/data-tables');
  const filter = filterFor(odata, table.place, query, table.nowMs() + table.uncertaintyMs);
  let next: string | undefined;
  do {
    const token = next;
    const answer: Answer<Page> | Refusal = await table.request('list records', 'harmless', async (client, options) => {
      const settings = token === undefined ? {} : { continuationToken: token };
      const { value } = await client
        .listEntities<Entity>({ ...options, queryOptions: { filter } })
        .byPage(settings)
        .next();
      return { entities: value ?? [], next: value?.continuationToken };
    });
    if (answer.refused !== undefined) throw storeUnavailable('list records', answer.cause);
    next = answer.value.next;
    const { entities } = answer.value;
    yield {
      // Rows of the caller's share a partition with the record they were committed with, and may have columns like ours.
      records: entities.filter(isRecordRow),
      marks: entities.filter(isMarks),
      dateMs: answer.dateMs,
    };
  } while (next !== undefined);
}

/** The age is only coarsely filtered by the service, on the safe side; each row is judged again by the date of the answer it came with. */
function filterFor(odata: Odata, place: Place, query: ListQuery, latestNowMs: number): string {
  const { operation, scope, state, olderThanMs } = query;
  const filters = [rowsIn(odata, place)];
  if (operation !== undefined) filters.push(odata`operation eq ${operation}`);
  if (scope !== undefined) filters.push(odata`scope eq ${scope}`);
  if (state !== undefined) filters.push(odata`state eq ${state}`);
  if (olderThanMs !== undefined) filters.push(odata`Timestamp lt ${new Date(latestNowMs - olderThanMs)}`);
  return filters.join(' and ');
}

/** The store of the whole table also finds what is pinned to partitions of the caller's, whichever these are. */
function rowsIn(odata: Odata, place: Place): string {
  const pinned = odata`RowKey ge ${PINNED_PREFIX} and RowKey lt ${PINNED_END}`;
  if ('partitionKey' in place) return `${odata`PartitionKey eq ${place.partitionKey}`} and ${pinned}`;
  const own = odata`PartitionKey ge ${PARTITION_PREFIX} and PartitionKey lt ${PARTITION_END}`;
  return `((${own}) or (${pinned}))`;
}
