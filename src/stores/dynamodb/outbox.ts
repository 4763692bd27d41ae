/**
 * An outbox in a DynamoDB table of its own.
 *
 * @module
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { storeMisconfigured } from '../../core/errors.ts';
import { checkFence } from '../../core/fence.ts';
import { checkOptions, has, invalidOptions, isInteger, isName } from '../../core/options.ts';
import type { CallOptions } from '../../core/ports.ts';
import type { OutboxPlace, ParkedMessage } from '../../outbox/port.ts';
import { connect, type Session } from './client.ts';
import type { Item } from './item.ts';
import { isConditionFailed, isValidation } from './map-error.ts';
import { groupItem, type KeptMessage, PARKED, placeOf, RELAY, TTL_ATTRIBUTE } from './outbox-layout.ts';
import { overtaken, settleIn } from './outbox-settle.ts';
import { countWaiting, pages, parkedQuery, takeFrom } from './outbox-take.ts';
import { setUpTable } from './set-up.ts';
import { transact } from './transact.ts';

export interface DynamodbOutboxOptions {
  /** A client of `@aws-sdk/client-dynamodb` v3; it stays yours to destroy. Default: one made on first use from the AWS default chain. */
  readonly client?: DynamoDBClient;
  /** The table that is the store's `outboxTable`: partition key `pk`, sort key `sk`, both strings. */
  readonly tableName: string;
  /** The longest one call may take in all, the SDK's own retries included, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 5_000;
const RULES = { client: has('send', 'destroy'), tableName: isName(1024), requestTimeoutMs: isInteger(1) };
const KEY = 'partition key "pk" and sort key "sk", both strings';

/**
 * Where `commitWith` keeps the messages of `run.outbox.add` for {@link relayOutbox}: `dynamodbStore({ outboxTable: tableName })`.
 *
 * Of one key, messages go in the order in which their transactions committed; of two that were under way at the same moment, in either order. Nothing is
 * scanned: what waits is read by consistent queries, and what was delivered is deleted.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options.
 *
 * @example
 * const outbox = dynamodbOutbox({ tableName: 'outbox' });
 * export const handler = async (_: unknown, context: Context) =>
 *   relayOutbox({ outbox, leases: storeLeases(store), deliver: publish, remainingMs: () => context.getRemainingTimeInMillis() });
 */
export function dynamodbOutbox(options: DynamodbOutboxOptions): OutboxPlace & { close(): Promise<void> } {
  checkOptions('dynamodbOutbox', options, RULES, ['tableName']);
  const { client, tableName, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const connection = connect({ client, tableName, partitionKey: 'pk', requestTimeoutMs, clock: undefined });
  const shaped = async <R>(body: () => Promise<R>): Promise<R> => {
    try {
      return await body();
    } catch (error) {
      if (!isValidation(error)) throw error;
      throw storeMisconfigured(`${(error as Error).message} The outbox's table ${tableName} must have the ${KEY}: setUp() makes it.`, error);
    }
  };
  const call = <R>(given: CallOptions | undefined, body: (session: Session) => Promise<R>): Promise<R> =>
    connection.call(given, (session) => shaped(() => body(session)));
  /** Each page has a time limit of its own: whoever reads them takes what time he likes. */
  const readAlone: Session['read'] = (command) => call(undefined, ({ read }) => read(command));
  const at = (id: string) => ({ TableName: tableName, Key: { pk: { S: PARKED }, sk: { S: id } } });

  return {
    name: `dynamodb/${tableName}`,
    async enter(relay, given) {
      checkFence(relay);
      await call(given, async ({ write }) => {
        try {
          await write(
            (sdk) =>
              new sdk.UpdateItemCommand({
                TableName: tableName,
                Key: RELAY,
                UpdateExpression: 'SET #owner = :owner, #token = :token',
                ConditionExpression: 'attribute_not_exists(#token) OR #token < :token OR (#token = :token AND #owner = :owner)',
                ExpressionAttributeNames: { '#owner': 'owner', '#token': 'token' },
                ExpressionAttributeValues: { ':owner': { S: relay.owner }, ':token': { N: String(relay.token) } },
                ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
              }),
          );
        } catch (error) {
          if (!isConditionFailed(error)) throw error;
          throw overtaken(relay, Number((error as { Item?: Item }).Item?.token?.N));
        }
      });
    },
    take: (request, given) => call(given, (session) => takeFrom(session, tableName, connection.clock.nowMs(), request)),
    settle: (relay, settlements, given) => shaped(() => settleIn({ connection, tableName, relay, signal: given?.signal }, settlements)),
    waiting: (given) => countWaiting((command) => call(given, ({ read }) => read(command)), tableName),
    async *listParked() {
      for await (const item of pages(readAlone, parkedQuery(tableName))) yield parkedMessage(item);
    },
    async unpark(id) {
      mustBeId(id);
      const item = await readAlone((sdk) => new sdk.GetItemCommand({ ...at(id), ConsistentRead: true }));
      if (item.Item === undefined) return false;
      const message = JSON.parse(item.Item.message?.S ?? '{}') as KeptMessage;
      const stamp = Number(item.Item.stamp?.N);
      const place = placeOf(message.key, id, stamp, message.index);
      const items = [{ Put: { TableName: tableName, Item: groupItem({ place, messages: [message], stamp }) } }];
      const own = { Delete: { ...at(id), ConditionExpression: 'attribute_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const } };
      const answer = await transact({ connection, items, own, at: at(id), refused: () => 'gone' as const, signal: undefined });
      return answer !== 'gone';
    },
    async dropParked(id) {
      mustBeId(id);
      const { Attributes } = await call(undefined, ({ write }) => write((sdk) => new sdk.DeleteItemCommand({ ...at(id), ReturnValues: 'ALL_OLD' })));
      return Attributes !== undefined;
    },
    setUp: () => setUpTable(connection, tableName, { partitionKey: 'pk', sortKey: 'sk', ttlAttribute: TTL_ATTRIBUTE }),
    close: async () => connection.close(),
  };
}

function mustBeId(id: unknown): void {
  const wrong = isName(1_024)(id);
  if (wrong !== undefined) throw invalidOptions('outbox', [`the id ${wrong}`]);
}

function parkedMessage(item: Item): ParkedMessage {
  const { id, topic, key, payload } = JSON.parse(item.message?.S ?? '{}') as KeptMessage;
  const [attempts, createdAtMs, parkedAtMs] = [item.attempts, item.stamp, item.parkedAtMs].map((value) => Number(value?.N)) as [
    number,
    number,
    number,
  ];
  return { id, topic, key, payload, attempts, createdAtMs, parkedAtMs, lastError: item.lastError?.S ?? '' };
}
