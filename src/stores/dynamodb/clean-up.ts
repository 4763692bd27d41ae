/**
 * Looking through the whole table, and removing what has expired. Reads every item: for people, sweepers and clean-up only.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore, type Stored } from '../../core/ports.ts';
import { FOREVER_MS, isExpired, isLapsed } from '../../core/record.ts';
import type { Connection } from './client.ts';
import type { Item } from './item.ts';

/** Enough to keep the service busy, few enough for the SDK's 50 sockets. */
const DELETES_AT_ONCE = 16;

export interface Table {
  readonly connection: Connection;
  readonly tableName: string;
  readonly partitionKey: string;
  toStored(item: Item): Stored;
}

export async function* scan({ connection, tableName, partitionKey, toStored }: Table, query: ListQuery): AsyncGenerator<Listed> {
  const filter = filterFor(query, connection.clock.nowMs());
  let from: Item | undefined;
  do {
    const page = await connection.call(undefined, ({ read }) =>
      read((sdk) => new sdk.ScanCommand({ TableName: tableName, ConsistentRead: true, ...filter, ...(from && { ExclusiveStartKey: from }) })),
    );
    for (const item of page.Items ?? []) {
      const stored = toStored(item);
      // The clock may have been corrected since the filter was made.
      if (query.olderThanMs === undefined || stored.ageMs > query.olderThanMs) yield { id: item[partitionKey]?.S ?? '', ...stored };
    }
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
}

function filterFor({ operation, state, olderThanMs }: ListQuery, nowMs: number) {
  // Without a revision it is not one of ours: the table may hold other things.
  const conditions = ['attribute_exists(#revision)'];
  const names: Record<string, string> = { '#revision': 'revision' };
  const values: Record<string, AttributeValue> = {};
  const and = (column: string, comparison: string, value: AttributeValue): void => {
    conditions.push(`#${column} ${comparison} :${column}`);
    names[`#${column}`] = column;
    values[`:${column}`] = value;
  };
  if (operation !== undefined) and('operation', '=', { S: operation });
  if (state !== undefined) and('state', '=', { S: state });
  if (olderThanMs !== undefined) and('writtenAtMs', '<', { N: String(Math.ceil(nowMs - olderThanMs)) });
  return {
    FilterExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

export async function purgeTable(
  table: Table,
  remove: RecordStore['delete'],
  uncertaintyMs: number,
  query: PurgeQuery,
): Promise<{ removed: number }> {
  const { operation, lapsedOlderThanMs, limit = Number.POSITIVE_INFINITY } = query;
  let removed = 0;
  let batch: Listed[] = [];
  const flush = async (): Promise<void> => {
    const results = await Promise.allSettled(batch.map(({ id, version }) => remove(id, version)));
    batch = [];
    removed += results.filter((result) => result.status === 'fulfilled' && result.value.ok).length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  if (limit <= 0) return { removed };
  for await (const found of scan(table, { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS })) {
    if (isPurgeable(found, uncertaintyMs, lapsedOlderThanMs)) batch.push(found);
    if (batch.length >= Math.min(DELETES_AT_ONCE, limit - removed)) await flush();
    if (removed >= limit) return { removed };
  }
  await flush();
  return { removed };
}

function isPurgeable({ record, ageMs }: Stored, uncertaintyMs: number, lapsedOlderThanMs: number | undefined): boolean {
  if (isExpired(record, ageMs, uncertaintyMs)) return true;
  // A lease row is kept even when its holder died: its token would be lost with it.
  if (lapsedOlderThanMs === undefined || record.retentionMs >= FOREVER_MS) return false;
  return isLapsed(record, ageMs, uncertaintyMs) && ageMs - record.leaseMs > lapsedOlderThanMs;
}
