/**
 * Messages as items of the transaction that commits their run.
 *
 * @module
 */
import type { CancellationReason, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { invalidOptions } from '../../core/options.ts';
import type { PendingMessage } from '../../core/outbox.ts';
import { itemBytes, MAX_ITEM_BYTES } from './item.ts';
import { groupItem, hashOf, type KeptMessage, placeOf, TTL_ATTRIBUTE } from './outbox-layout.ts';

export interface OutboxTable {
  readonly tableName: string;
  nowMs(): number;
}

/** What of a transaction is the outbox's. */
export interface OutboxWrite {
  readonly items: readonly TransactWriteItem[];
  /**
   * The transaction was cancelled. `reasons`: those of `items`. What to write instead, where a later message of a key stood there (somebody committed in
   * between, or by a faster clock): undefined where it was cancelled for something else.
   */
  again(reasons: readonly CancellationReason[]): OutboxWrite | undefined;
}

/** A key that has been silent for so long needs no head: no two clocks are that far apart. */
const HEAD_KEPT_S = 7 * 86_400;

/**
 * Each message is written only where nothing stands, and each key's stamp only grows: so messages of a key lie in the order in which they were committed,
 * whatever the clocks of those who write them say.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for messages that do not fit into an item.
 */
export function outboxWrite(messages: readonly PendingMessage[], table: OutboxTable): OutboxWrite {
  return written(grouped(messages), table, Math.floor(table.nowMs()));
}

function written(groups: readonly KeptMessage[][], table: OutboxTable, stamp: number): OutboxWrite {
  const items = groups.flatMap((group) => itemsOf(group, table, stamp));
  return {
    items,
    again(reasons) {
      const refused = reasons.filter(({ Code }) => Code === 'ConditionalCheckFailed');
      if (refused.length === 0) return undefined;
      const last = refused.map(({ Item }) => Number(Item?.last?.N ?? stamp));
      return written(groups, table, Math.max(Math.floor(table.nowMs()), stamp + 1, ...last.map((one) => one + 1)));
    },
  };
}

/** Those of one run and key go into one item: a query may see one item of a transaction before the other. */
function grouped(messages: readonly PendingMessage[]): KeptMessage[][] {
  const byKey = new Map<string, KeptMessage[]>();
  const groups: KeptMessage[][] = [];
  for (const { id, topic, key, payload } of [...messages].sort((a, b) => a.position - b.position)) {
    const standing = key === undefined ? undefined : byKey.get(key);
    const group = standing ?? [];
    group.push({ id, topic, key, payload, index: group.length });
    if (standing !== undefined) continue;
    groups.push(group);
    if (key !== undefined) byKey.set(key, group);
  }
  return groups;
}

function itemsOf(messages: readonly KeptMessage[], { tableName: TableName }: OutboxTable, stamp: number): TransactWriteItem[] {
  const [{ id, key } = { id: '', key: undefined }] = messages;
  const Item = groupItem({ place: placeOf(key, id, stamp), messages, stamp });
  if (itemBytes(Item) > MAX_ITEM_BYTES) {
    const which = key === undefined ? 'a message' : 'the messages of one run and key';
    throw invalidOptions('outbox', [`${which} must fit into one item of DynamoDB (${MAX_ITEM_BYTES} bytes): send a reference to what is large`]);
  }
  const put: TransactWriteItem = { Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' } };
  if (key === undefined) return [put];
  const head: TransactWriteItem = {
    Update: {
      TableName,
      Key: { pk: { S: `key/${hashOf(key)}` }, sk: { S: 'head' } },
      UpdateExpression: 'SET #last = :stamp, #ttl = :ttl',
      ConditionExpression: 'attribute_not_exists(#last) OR #last < :stamp',
      ExpressionAttributeNames: { '#last': 'last', '#ttl': TTL_ATTRIBUTE },
      ExpressionAttributeValues: { ':stamp': { N: String(stamp) }, ':ttl': { N: String(Math.ceil(stamp / 1000) + HEAD_KEPT_S) } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
  return [head, put];
}
