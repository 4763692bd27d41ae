/**
 * Looking through the whole table, and removing what has expired. Table Storage has no index but its keys: for people, sweepers and clean-up only.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore } from '../../core/ports.ts';
import { purgeListed, unlessTooNew } from '../../core/purge.ts';
import { etagOf, fromEntity, PARTITION_END, PARTITION_PREFIX, timestampMs } from './entity.ts';
import { isMarks, isRecordRow } from './fence-rows.ts';
import type { Refusal } from './map-error.ts';
import type { Answer, Request } from './request.ts';

type Entity = Record<string, unknown>;
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
  nowMs(): number;
  remove: RecordStore['delete'];
}

export async function* list(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  for await (const page of pages(table, query)) {
    for (const entity of page.records) {
      const found = toListed(entity, page.dateMs);
      if (query.olderThanMs === undefined || found.ageMs > query.olderThanMs) yield found;
    }
  }
}

export function purge(table: Table, query: PurgeQuery): Promise<{ removed: number }> {
  return purgeListed(purgeable(table, query), table.remove, query, table.uncertaintyMs);
}

async function* purgeable(table: Table, { operation }: PurgeQuery): AsyncGenerator<Listed> {
  for await (const { records, marks, dateMs } of pages(table, { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS })) {
    for (const entity of records) yield* unlessTooNew(() => toListed(entity, dateMs));
    for (const entity of marks) if (dateMs - timestampMs(entity) > PURGE_MIN_AGE_MS) await removeMarks(table, entity);
  }
}

/** Looked for only while their call is under way. */
async function removeMarks({ request }: Table, entity: Entity): Promise<void> {
  const { partitionKey, rowKey } = entity as { partitionKey: string; rowKey: string };
  // Refused: a transaction has just landed, and left its own.
  await request('remove marks', 'write', (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, etag: etagOf(entity) }));
}

const toListed = (entity: Entity, dateMs: number): Listed => {
  const record = fromEntity(entity);
  return { id: String(entity.rowKey), record, version: etagOf(entity), ageMs: Math.max(0, dateMs - record.writtenAtMs) };
};

/** Page by page and not by the SDK's own iterator: its one abort signal would bound the whole listing. */
async function* pages(table: Table, query: ListQuery): AsyncGenerator<Found> {
  const { odata } = await import('@azure/data-tables');
  const filter = filterFor(odata, query, table.nowMs() + table.uncertaintyMs);
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
function filterFor(odata: typeof import('@azure/data-tables').odata, query: ListQuery, latestNowMs: number): string {
  const { operation, state, olderThanMs } = query;
  const filters = [odata`PartitionKey ge ${PARTITION_PREFIX} and PartitionKey lt ${PARTITION_END}`];
  if (operation !== undefined) filters.push(odata`operation eq ${operation}`);
  if (state !== undefined) filters.push(odata`state eq ${state}`);
  if (olderThanMs !== undefined) filters.push(odata`Timestamp lt ${new Date(latestNowMs - olderThanMs)}`);
  return filters.join(' and ');
}
