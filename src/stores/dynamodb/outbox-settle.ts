/**
 * Writing down what became of deliveries, in transactions that a relay which was overtaken cannot make.
 *
 * @module
 */
import type { ConditionCheck, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { RerunSafeError } from '../../core/errors.ts';
import type { Fence } from '../../core/ports.ts';
import type { Ending, Settlement } from '../../outbox/port.ts';
import type { Connection } from './client.ts';
import type { Item } from './item.ts';
import { cancellationOf } from './map-error.ts';
import { type Group, type KeptMessage, keyAt, PARKED, RELAY } from './outbox-layout.ts';
import type { TakenPlace } from './outbox-take.ts';
import { MOST_ITEMS, transact } from './transact.ts';

/** The service takes 4 MB in one transaction, and counts what we do not. */
const MOST_BYTES = 3_000_000;

/** What is to become of one item. */
export interface Change {
  readonly group: Group;
  readonly bytes: number;
  done: number;
  failed: Extract<Ending, { kind: 'retry' }> | undefined;
  readonly parked: { readonly message: KeptMessage; readonly ending: Extract<Ending, { kind: 'parked' }> }[];
}

/** Those of one item come in order, so the last one says how far it has come. A transaction takes each item once. */
export function changesOf(settlements: readonly Settlement[]): Change[] {
  const changes = new Map<string, Change>();
  for (const { message, ending } of settlements) {
    const { group, bytes } = message.place as TakenPlace;
    const name = `${group.place.pk} ${group.place.sk}`;
    const change = changes.get(name) ?? { group, bytes, done: group.done, failed: undefined, parked: [] };
    changes.set(name, change);
    const index = group.messages.findIndex(({ id }) => id === message.id);
    const kept = group.messages[index];
    if (kept === undefined) continue;
    change.done = ending.kind === 'retry' ? index : index + 1;
    change.failed = ending.kind === 'retry' ? ending : undefined;
    if (ending.kind === 'parked') change.parked.push({ message: kept, ending });
  }
  return [...changes.values()];
}

export interface SettleCall {
  readonly connection: Connection;
  readonly tableName: string;
  readonly relay: Fence;
  readonly signal: AbortSignal | undefined;
}

export async function settleIn(call: SettleCall, settlements: readonly Settlement[]): Promise<void> {
  for (const items of portions(call, changesOf(settlements))) await send(call, items);
}

/** As many as fit into one transaction. An item and what is parked of it stay together. */
function portions({ connection, tableName }: SettleCall, changes: readonly Change[]): TransactWriteItem[][] {
  const nowMs = connection.clock.nowMs();
  const all: TransactWriteItem[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    const items = itemsOf(tableName, change, nowMs);
    const more = change.bytes * (change.parked.length > 0 ? 2 : 1);
    const last = all.at(-1);
    if (last === undefined || bytes + more > MOST_BYTES || last.length + items.length > MOST_ITEMS) {
      all.push(items);
      bytes = more;
    } else {
      last.push(...items);
      bytes += more;
    }
  }
  return all;
}

function itemsOf(TableName: string, { group, done, failed, parked }: Change, nowMs: number): TransactWriteItem[] {
  const Key = keyAt(group.place);
  const kept = parked.map(({ message, ending }) => ({ Put: { TableName, Item: parkedItem(message, group, ending, nowMs) } }));
  if (done === group.messages.length) return [...kept, { Delete: { TableName, Key } }];
  const dueAtMs = failed === undefined ? 0 : nowMs + failed.delayMs;
  const update: TransactWriteItem = {
    Update: {
      TableName,
      Key,
      UpdateExpression: 'SET #done = :done, #attempts = :attempts, #due = :due, #error = :error',
      // An update would bring back what somebody has deleted.
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#done': 'done', '#attempts': 'attempts', '#due': 'dueAtMs', '#error': 'lastError' },
      ExpressionAttributeValues: {
        ':done': { N: String(done) },
        ':attempts': { N: String(failed?.attempts ?? 0) },
        ':due': { N: String(dueAtMs) },
        ':error': { S: failed?.error ?? '' },
      },
    },
  };
  return [...kept, update];
}

function parkedItem(message: KeptMessage, { stamp }: Group, { attempts, error }: Extract<Ending, { kind: 'parked' }>, nowMs: number): Item {
  return {
    pk: { S: PARKED },
    sk: { S: message.id },
    ...(message.key === undefined ? {} : { key: { S: message.key } }),
    message: { S: JSON.stringify(message) },
    stamp: { N: String(stamp) },
    attempts: { N: String(attempts) },
    parkedAtMs: { N: String(nowMs) },
    lastError: { S: error },
  };
}

async function send({ connection, tableName, relay, signal }: SettleCall, all: readonly TransactWriteItem[]): Promise<void> {
  const own: ConditionCheck = {
    TableName: tableName,
    Key: RELAY,
    ConditionExpression: '#owner = :owner AND #token = :token',
    ExpressionAttributeNames: { '#owner': 'owner', '#token': 'token' },
    ExpressionAttributeValues: { ':owner': { S: relay.owner }, ':token': { N: String(relay.token) } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
  const at = { TableName: tableName, Key: RELAY };
  for (let items = all; items.length > 0; ) {
    try {
      const refused = (standing: Item | undefined): never => {
        throw overtaken(relay, Number(standing?.token?.N));
      };
      await transact({ connection, items, own: { ConditionCheck: own }, at, refused, signal });
      return;
    } catch (error) {
      const reasons = cancellationOf(error);
      const standing = items.filter((_, n) => reasons?.[n]?.Code !== 'ConditionalCheckFailed');
      if (reasons === undefined || standing.length === items.length) throw error;
      items = standing;
    }
  }
}

export const overtaken = (relay: Fence, storedToken: number): RerunSafeError =>
  new RerunSafeError(
    'STALE_TOKEN',
    `Another relay has entered the outbox (token ${storedToken}, ours is ${relay.token}). Nothing was written down: what was delivered comes again.`,
    { facts: { id: relay.id, token: relay.token, storedToken } },
  );
