/**
 * Looking through the whole table, and removing what has expired. Reads every item: for people, sweepers and clean-up only.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore, type Stored } from '../../core/ports.ts';
import { purgeListed, unlessTooNew } from '../../core/purge.ts';
import type { Connection } from './client.ts';
import type { Item } from './item.ts';

export interface Table {
  readonly connection: Connection;
  readonly tableName: string;
  readonly partitionKey: string;
  toStored(item: Item): Stored;
}

export async function* scan(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  for await (const item of items(table, query)) {
    const found = toListed(table, item);
    // The clock may have been corrected since the filter was made.
    if (query.olderThanMs === undefined || found.ageMs > query.olderThanMs) yield found;
  }
}

const toListed = ({ partitionKey, toStored }: Table, item: Item): Listed => ({ id: item[partitionKey]?.S ?? '', ...toStored(item) });

async function* items({ connection, tableName }: Table, query: ListQuery): AsyncGenerator<Item> {
  const filter = filterFor(query, connection.clock.nowMs());
  let from: Item | undefined;
  do {
    const page = await connection.call(undefined, ({ read }) =>
      read((sdk) => new sdk.ScanCommand({ TableName: tableName, ConsistentRead: true, ...filter, ...(from && { ExclusiveStartKey: from }) })),
    );
    yield* page.Items ?? [];
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

export function purgeTable(table: Table, remove: RecordStore['delete'], uncertaintyMs: number, query: PurgeQuery): Promise<{ removed: number }> {
  return purgeListed(purgeable(table, query), remove, query, uncertaintyMs);
}

async function* purgeable(table: Table, { operation }: PurgeQuery): AsyncGenerator<Listed> {
  const old = { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS };
  for await (const item of items(table, old)) yield* unlessTooNew(() => toListed(table, item));
}
