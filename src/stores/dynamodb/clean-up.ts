/**
 * Looking through the whole table, and removing what has expired. Reads every item: for people, sweepers and clean-up only.
 *
 * @module
 */
import type { AttributeValue, ScanCommandInput } from '@aws-sdk/client-dynamodb';
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type RecordStore, type Stored } from '../../core/ports.ts';
import { isOrphan, purgeListed, type RemovePart, readUnlessTooNew, unlessTooNew } from '../../core/purge.ts';
import { COLUMNS, type RecordId } from '../../core/record.ts';
import type { Connection } from './client.ts';
import type { Item } from './item.ts';
import { PART, partOf } from './parts.ts';

export interface Table {
  readonly connection: Connection;
  readonly tableName: string;
  readonly partitionKey: string;
  toStored(item: Item): Stored;
}

export async function* scan(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  for await (const item of items(table, filterFor(query, table.connection.clock.nowMs()))) {
    const found = toListed(table, item);
    // The clock may have been corrected since the filter was made.
    if (query.olderThanMs === undefined || found.ageMs > query.olderThanMs) yield found;
  }
}

const toListed = ({ partitionKey, toStored }: Table, item: Item): Listed => ({ id: item[partitionKey]?.S ?? '', ...toStored(item) });

async function* items({ connection, tableName }: Table, filter: Filter): AsyncGenerator<Item> {
  let from: Item | undefined;
  do {
    const page = await connection.call(undefined, ({ read }) =>
      read((sdk) => new sdk.ScanCommand({ TableName: tableName, ConsistentRead: true, ...filter, ...(from && { ExclusiveStartKey: from }) })),
    );
    yield* page.Items ?? [];
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
}

type Filter = Pick<ScanCommandInput, 'FilterExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues' | 'ProjectionExpression'>;

function filterFor({ operation, scope, state, olderThanMs }: ListQuery, nowMs: number, withParts = false): Filter {
  // Without a revision it is not one of ours: the table may hold other things.
  const conditions = [withParts ? '(attribute_exists(#revision) OR attribute_type(#part, :bytes))' : 'attribute_exists(#revision)'];
  const names: Record<string, string> = { '#revision': 'revision', ...(withParts && { '#part': PART }) };
  const values: Record<string, AttributeValue> = withParts ? { ':bytes': { S: 'B' } } : {};
  const and = (column: string, comparison: string, value: AttributeValue): void => {
    conditions.push(`#${column} ${comparison} :${column}`);
    names[`#${column}`] = column;
    values[`:${column}`] = value;
  };
  if (operation !== undefined) and('operation', '=', { S: operation });
  if (scope !== undefined) and('scope', '=', { S: scope });
  if (state !== undefined) and('state', '=', { S: state });
  if (olderThanMs !== undefined) and('writtenAtMs', '<', { N: String(Math.ceil(nowMs - olderThanMs)) });
  return {
    FilterExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

export interface Removes {
  readonly record: RecordStore['delete'];
  readonly part: RemovePart;
  /** The record that a part is of, as it stands now. */
  read(id: RecordId): Promise<Stored | undefined>;
}

export function purgeTable(table: Table, removes: Removes, uncertaintyMs: number, query: PurgeQuery): Promise<{ removed: number }> {
  return purgeListed(purgeable(table, removes, query), removes.record, query, uncertaintyMs, removes.part);
}

async function* purgeable(table: Table, removes: Removes, { operation }: PurgeQuery): AsyncGenerator<Listed> {
  const old = { ...(operation !== undefined && { operation }), olderThanMs: PURGE_MIN_AGE_MS };
  // A part does not say what operation it is of.
  const filter = filterFor(old, table.connection.clock.nowMs(), operation === undefined);
  for await (const item of items(table, withoutBytes(table, filter))) {
    if (item.revision === undefined) await removeIfOrphan(table, removes, item);
    else yield* unlessTooNew(() => toListed(table, item));
  }
}

/** So that parts do not travel to be looked at. */
function withoutBytes({ partitionKey }: Table, filter: Filter): Filter {
  const names = Object.fromEntries([partitionKey, ...Object.keys(COLUMNS)].map((name, n) => [`#c${n}`, name]));
  return {
    ...filter,
    ExpressionAttributeNames: { ...filter.ExpressionAttributeNames, ...names },
    ProjectionExpression: Object.keys(names).join(', '),
  };
}

async function removeIfOrphan({ connection, partitionKey }: Table, { read, part }: Removes, item: Item): Promise<void> {
  const found = partOf(item[partitionKey]?.S ?? '');
  if (found === undefined) return;
  const { id, name } = found;
  const ageMs = connection.clock.nowMs() - Number(item.writtenAtMs?.N);
  if (!(ageMs >= PURGE_MIN_AGE_MS)) return;
  for (const standing of await readUnlessTooNew(() => read(id))) if (isOrphan(name, ageMs, standing)) await part(id, name);
}
