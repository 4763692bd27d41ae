/**
 * Reading what waits, key by key, so that a message is never met before one of its key that was committed earlier.
 *
 * A page of a query is no snapshot. But a key's messages lie side by side in the order of their commits, so whatever is committed while the reading goes
 * on lies behind what was read of its key; and after each page the reading goes on behind that key. The rest of it waits for the next round.
 *
 * @module
 */
import type { QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { Taken, TakeRequest, WaitingMessage } from '../../outbox/port.ts';
import type { Session } from './client.ts';
import type { Item } from './item.ts';
import { behind, type Group, groupIn, PARKED, SHARDS } from './outbox-layout.ts';

/** What the relay hands back for each message. */
export interface TakenPlace {
  readonly group: Group;
  readonly bytes: number;
}

interface Range {
  readonly pk: string;
  readonly from: string;
  readonly to: string;
}

interface Cursor {
  readonly ranges: readonly Range[];
  /** Keys of which a message is parked. */
  readonly held: ReadonlySet<string>;
}

/** In one call, which has a time limit: there may be any number that are not due. */
const MOST_PAGES = 10;
/** Behind every sort key there is. */
const END = '~';

export async function takeFrom(session: Session, tableName: string, nowMs: number, { limit, after, holdParked }: TakeRequest): Promise<Taken> {
  const cursor = (after as Cursor | undefined) ?? { ranges: round(), held: holdParked ? await parkedKeys(session, tableName) : new Set() };
  const messages: WaitingMessage[] = [];
  let { ranges } = cursor;
  for (let pages = 0; messages.length < limit && pages < MOST_PAGES; pages++) {
    const [range, ...others] = ranges;
    if (range === undefined) break;
    const page = await session.read((sdk) => new sdk.QueryCommand({ ...query(tableName, range), Limit: limit }));
    messages.push(...deliverable(page.Items ?? [], cursor.held, nowMs));
    const last = page.LastEvaluatedKey?.sk?.S;
    ranges = last === undefined ? others : [{ ...range, from: behind(last) }, ...others];
  }
  return { messages, ...(ranges.length > 0 ? { next: { ...cursor, ranges } } : {}) };
}

/** From anywhere, all the way round: were each run to begin at the same place, and none to come to an end, some keys would wait for ever. */
function round(): Range[] {
  const start = `k/${Math.floor(Math.random() * 256)
    .toString(16)
    .padStart(2, '0')}`;
  const shards = Array.from({ length: SHARDS }, (_, n) => `waiting/${n}`);
  return [...shards.map((pk) => ({ pk, from: start, to: END })), ...shards.map((pk) => ({ pk, from: ' ', to: start }))];
}

const query = (TableName: string, { pk, from, to }: Range) => ({
  TableName,
  ConsistentRead: true,
  KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
  ExpressionAttributeValues: { ':pk': { S: pk }, ':from': { S: from }, ':to': { S: to } },
});

/** In the order of their sort keys. What is not due yet holds back the rest of its key. */
function deliverable(items: readonly Item[], held: ReadonlySet<string>, nowMs: number): WaitingMessage[] {
  const waitsFor = new Set<string>();
  return items.flatMap((item) => {
    const group = groupIn(item);
    const { key } = group.messages[0] ?? {};
    if (group.dueAtMs > nowMs && key !== undefined) waitsFor.add(key);
    if (group.dueAtMs > nowMs || (key !== undefined && (held.has(key) || waitsFor.has(key)))) return [];
    const place: TakenPlace = { group, bytes: bytesOf(item) };
    return group.messages.slice(group.done).map((message, n) => ({
      id: message.id,
      topic: message.topic,
      key: message.key,
      payload: message.payload,
      attempts: n === 0 ? group.attempts : 0,
      createdAtMs: group.stamp,
      place,
    }));
  });
}

const bytesOf = ({ messages }: Item): number => Buffer.byteLength(messages?.S ?? '') + 1_000;

async function parkedKeys(session: Session, TableName: string): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const { key } of pages(session.read, {
    ...parkedQuery(TableName),
    ProjectionExpression: '#key',
    ExpressionAttributeNames: { '#key': 'key' },
  })) {
    if (key?.S !== undefined) keys.add(key.S);
  }
  return keys;
}

export const parkedQuery = (TableName: string) => ({
  TableName,
  ConsistentRead: true,
  KeyConditionExpression: 'pk = :pk',
  ExpressionAttributeValues: { ':pk': { S: PARKED } },
});

export async function* pages(read: Session['read'], input: QueryCommandInput): AsyncGenerator<Item> {
  let from: Item | undefined;
  do {
    const start = from === undefined ? {} : { ExclusiveStartKey: from };
    const page = await read((sdk) => new sdk.QueryCommand({ ...input, ...start }));
    yield* page.Items ?? [];
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
}

/** Messages, not items. */
export async function countWaiting(read: Session['read'], TableName: string): Promise<number> {
  let count = 0;
  for (let shard = 0; shard < SHARDS; shard++) {
    const input = {
      ...parkedQuery(TableName),
      ExpressionAttributeValues: { ':pk': { S: `waiting/${shard}` } },
      ProjectionExpression: '#count, #done',
      ExpressionAttributeNames: { '#count': 'count', '#done': 'done' },
    };
    for await (const item of pages(read, input)) count += Number(item.count?.N) - Number(item.done?.N);
  }
  return count;
}
