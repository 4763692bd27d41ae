/**
 * Looking through the whole table, and removing what has expired. Table Storage has no index but its keys: for people, sweepers and clean-up only.
 *
 * @module
 */
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore } from '../../core/ports.ts';
import { FOREVER_MS, isExpired, isLapsed } from '../../core/record.ts';
import { etagOf, fromEntity, PARTITION_END, PARTITION_PREFIX } from './entity.ts';
import type { Refusal } from './map-error.ts';
import type { Answer, Request } from './request.ts';

type Entity = Record<string, unknown>;
interface Page {
  readonly entities: readonly Entity[];
  readonly next: string | undefined;
}

/** Enough to keep a partition busy, far below its 2,000 a second. */
const DELETES_AT_ONCE = 16;

export interface Table {
  readonly request: Request;
  readonly uncertaintyMs: number;
  nowMs(): number;
  remove: RecordStore['delete'];
}

export async function* list(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  for await (const page of pages(table, query)) {
    for (const entity of page.entities) {
      const found = toListed(entity, page.dateMs);
      if (query.olderThanMs === undefined || found.ageMs > query.olderThanMs) yield found;
    }
  }
}

export async function purge(table: Table, query: PurgeQuery): Promise<{ removed: number }> {
  const { operation, limit = Number.POSITIVE_INFINITY } = query;
  let removed = 0;
  for await (const { entities, dateMs } of pages(table, { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS })) {
    const due = entities.flatMap((entity) => known(entity, dateMs)).filter((found) => isDue(found, query.lapsedOlderThanMs, table.uncertaintyMs));
    while (due.length > 0 && removed < limit) {
      removed += await removeAll(table, due.splice(0, Math.min(DELETES_AT_ONCE, limit - removed)));
    }
    if (removed >= limit) break;
  }
  return { removed };
}

/** All are waited for before a failure is told: nothing goes on removing behind the caller's back. */
async function removeAll(table: Table, found: readonly Listed[]): Promise<number> {
  const results = await Promise.allSettled(found.map(({ id, version }) => table.remove(id, version)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return results.filter((result) => result.status === 'fulfilled' && result.value.ok).length;
}

/** A record of a later schema is not ours to judge; one such row must not stop the clean-up of the others. */
function known(entity: Entity, dateMs: number): Listed[] {
  try {
    return [toListed(entity, dateMs)];
  } catch (error) {
    if (isRerunSafeError(error, 'RECORD_TOO_NEW')) return [];
    throw error;
  }
}

function isDue({ record, ageMs }: Listed, lapsedOlderThanMs: number | undefined, uncertaintyMs: number): boolean {
  if (ageMs < PURGE_MIN_AGE_MS) return false;
  if (isExpired(record, ageMs, uncertaintyMs)) return true;
  // A lease row is kept even when its holder died: with it the token would be lost, and tokens only grow.
  if (lapsedOlderThanMs === undefined || record.retentionMs >= FOREVER_MS) return false;
  return isLapsed(record, ageMs, uncertaintyMs) && ageMs - record.leaseMs > lapsedOlderThanMs + uncertaintyMs;
}

const toListed = (entity: Entity, dateMs: number): Listed => {
  const record = fromEntity(entity);
  return { id: String(entity.rowKey), record, version: etagOf(entity), ageMs: Math.max(0, dateMs - record.writtenAtMs) };
};

/** Page by page and not by the SDK's own iterator: its one abort signal would bound the whole listing. */
async function* pages(table: Table, query: ListQuery): AsyncGenerator<{ entities: readonly Entity[]; dateMs: number }> {
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
    // Business rows may share a partition with the record they were committed with.
    yield { entities: answer.value.entities.filter((entity) => entity.schema !== undefined && entity.revision !== undefined), dateMs: answer.dateMs };
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
