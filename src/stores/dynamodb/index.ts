/**
 * Records in a DynamoDB table, by conditional writes.
 *
 * @module
 */
import type { DynamoDBClient, Put } from '@aws-sdk/client-dynamodb';
import { storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { checkOptions, has, invalidOptions, isInteger, isName, type Rules } from '../../core/options.ts';
import type { CallOptions, Conflict, PartsStore, RecordStore, Stored, TooLarge, WriteResult } from '../../core/ports.ts';
import { COLUMNS, type RecordId, type RecordToWrite, type Version } from '../../core/record.ts';
import { purgeTable, scan, type Table } from './clean-up.ts';
import { connect, type Send, type Session } from './client.ts';
import { dynamodb, type Internals } from './internals.ts';
import { fromItem, type Item, itemBytes, type Layout, MAX_ITEM_BYTES, toItem } from './item.ts';
import { isConditionFailed, isItemTooLarge } from './map-error.ts';
import { PART, PART_LIMITS, partItems } from './parts.ts';
import { setUpTable } from './set-up.ts';

export { type RelayLoopOptions, relayLoop } from '../../outbox/loop.ts';
export type { Backoff, Deliver, RelayOptions } from '../../outbox/options.ts';
export type { OutboxPlace, ParkedMessage, RelayedMessage } from '../../outbox/port.ts';
export { type RelayCounts, type RelayResult, relayOutbox } from '../../outbox/relay.ts';
export { type CommitOptions, commitWith } from './commit-with.ts';
export {
  type FencedDeleteInput,
  type FencedPutInput,
  type FencedUpdateInput,
  type FenceOptions,
  fencedDelete,
  fencedPut,
  fencedUpdate,
  isFencedDeletion,
} from './fenced.ts';
export { type FencedTransactionOptions, fencedTransaction } from './fenced-transaction.ts';
export { type DynamodbOutboxOptions, dynamodbOutbox } from './outbox.ts';
export type { PowertoolsFirstOptions } from './powertools-first.ts';
export {
  type PowertoolsReadOptions,
  type PowertoolsRecord,
  type PowertoolsRecords,
  type PowertoolsRecordsOptions,
  powertoolsRecords,
} from './powertools-records.ts';

export interface DynamodbStoreOptions {
  /** A client of `@aws-sdk/client-dynamodb` v3; it stays yours to destroy. Default: one made on first use from the AWS default chain, with 3 tries and a time limit for each. */
  readonly client?: DynamoDBClient;
  /** Default: the environment variable `RERUNSAFE_TABLE`. */
  readonly tableName?: string;
  /** The table of `dynamodbOutbox`, where the messages of `run.outbox.add` go with a `commitWith`. Default: none, and such a run is refused. */
  readonly outboxTable?: string;
  /** The table's partition key, a string attribute. Default `id`. */
  readonly partitionKey?: string;
  /** Epoch seconds, for the service's own clean-up; never trusted for expiry. Default `expiresAtS`; false: not written. */
  readonly ttlAttribute?: string | false;
  /** How far the clocks of two callers may be apart, ms. Default 2000, which is also the least. */
  readonly uncertaintyMs?: number;
  /** An outcome whose JSON (compressed, sealed) is larger lies in parts beside its record: one request more to write and to replay, and far fewer units. Default 8192. */
  readonly inlineBytes?: number;
  /** The longest one call may take in all, the SDK's own retries included, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  /** Stamps records and tells their age, epoch ms. Default: the wall clock, corrected by the dates of the service's answers. A virtual clock in tests. */
  readonly clock?: { nowMs(): number };
}

const DEFAULT_UNCERTAINTY_MS = 2000;
const DEFAULT_REQUEST_TIMEOUT_MS = 5000;
/** A replay is a refused write, which costs as much as the whole item: 1 write unit for each KB. Read as a part, 4 KB cost half a read unit. */
const DEFAULT_INLINE_BYTES = 8 * 1024;
/** The rest is for the columns. */
const MAX_INLINE_BYTES = MAX_ITEM_BYTES - 16 * 1024;
/** A row that is refused and then not found was removed in between. That it happens three times in a row has other reasons. */
const CREATE_ATTEMPTS = 3;

const RULES: Rules = {
  client: has('send', 'destroy'),
  tableName: isName(1024),
  outboxTable: isName(1024),
  partitionKey: isAttribute,
  ttlAttribute: (value) => (value === false ? undefined : isAttribute(value)),
  uncertaintyMs: isInteger(DEFAULT_UNCERTAINTY_MS),
  inlineBytes: isInteger(0, MAX_INLINE_BYTES),
  requestTimeoutMs: isInteger(1),
  clock: has('nowMs'),
};

function isAttribute(value: unknown): string | undefined {
  return (
    isName(255)(value) ?? (value === PART || Object.hasOwn(COLUMNS, String(value)) ? 'must not be the name of a column of the record' : undefined)
  );
}

/**
 * Keeps records in a DynamoDB table. Reads are strongly consistent; each write is one conditional request, and a refused one brings the standing record
 * with it. Use it in one region: global tables settle conflicts by "last writer wins", which no condition survives.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options.
 *
 * @example
 * const store = dynamodbStore({ tableName: 'rerunsafe' });
 * await runOnce({ store, operation: 'payments/charge', key: orderId }, (run) => charge(order, run.keyFor('charge')));
 */
export function dynamodbStore(options: DynamodbStoreOptions = {}): PartsStore {
  const { tableName, layout, uncertaintyMs, inlineBytes, connection } = configure(options);
  const { partitionKey } = layout;
  const { clock } = connection;
  const keyOf = (id: RecordId): Item => ({ [partitionKey]: { S: id } });

  const toStored = (item: Item): Stored => {
    const record = fromItem(item);
    return { record, version: record.revision, ageMs: Math.max(0, clock.nowMs() - record.writtenAtMs) };
  };
  const table: Table = { connection, tableName, partitionKey, toStored };

  const get = async (read: Send, id: RecordId): Promise<Stored | undefined> => {
    const { Item } = await read((sdk) => new sdk.GetItemCommand({ TableName: tableName, Key: keyOf(id), ConsistentRead: true }));
    return Item === undefined ? undefined : toStored(Item);
  };
  /** Undefined: it was written. Not every service returns the item with its refusal, and "not returned" must not pass for "absent". */
  const refusal = async (session: Session, id: RecordId, write: Promise<unknown>): Promise<Conflict | TooLarge | undefined> => {
    try {
      await write;
      return undefined;
    } catch (error) {
      if (isItemTooLarge(error)) return { ok: false, reason: 'too-large' };
      if (!isConditionFailed(error)) throw error;
      const { Item: standing } = error as { Item?: Item };
      return { ok: false, reason: 'conflict', current: standing === undefined ? await get(session.lookUp, id) : toStored(standing) };
    }
  };
  const onlyAbsent = { ConditionExpression: 'attribute_not_exists(#key)', ExpressionAttributeNames: { '#key': partitionKey } };
  const onlyVersion = (version: string) => ({
    ConditionExpression: '#revision = :version',
    ExpressionAttributeNames: { '#revision': 'revision' },
    ExpressionAttributeValues: { ':version': { S: version } },
  });

  const stampedPut = (id: RecordId, record: RecordToWrite, version: Version | undefined, writtenAtMs: number): Put | 'too-large' => {
    const item = toItem(id, { ...record, writtenAtMs }, layout);
    if (itemBytes(item) > MAX_ITEM_BYTES) return 'too-large';
    const condition = version === undefined ? onlyAbsent : onlyVersion(version);
    return { TableName: tableName, Item: item, ReturnValuesOnConditionCheckFailure: 'ALL_OLD', ...condition };
  };
  const guardedPut: Internals['guardedPut'] = (id, record, version) => stampedPut(id, record, version, clock.nowMs());

  const put = async (id: RecordId, record: RecordToWrite, version: Version | undefined, call?: CallOptions): Promise<WriteResult> => {
    // Stamped once: all tries of this call carry the moment of the first.
    const [stampMs, offsetMs] = [clock.nowMs(), clock.offsetMs()];
    const input = stampedPut(id, record, version, stampMs);
    if (input === 'too-large') return { ok: false, reason: 'too-large' };
    const attempts = version === undefined ? CREATE_ATTEMPTS : 1;
    /** The first answer of a process may show that its clock is wrong, and with it the stamp: others would take the record hours too early, or never. */
    const restamp = async (session: Session): Promise<Conflict | TooLarge | undefined> => {
      const wrongByMs = clock.offsetMs() - offsetMs;
      if (Math.abs(wrongByMs) <= uncertaintyMs) return undefined;
      const again = stampedPut(id, record, record.revision, Math.round(stampMs + wrongByMs)) as Put;
      const write = session.write((sdk) => new sdk.PutItemCommand(again));
      return refusal(session, id, write).catch((error: unknown) => {
        // The record stands: whatever became of its stamp, nobody may say that nothing was changed.
        throw writeUnknown('a record stands, and its stamp could not be set right', error);
      });
    };
    return connection.call(call, async (session) => {
      for (let attempt = 1; attempt <= attempts; attempt++) {
        const write = session.write((sdk) => new sdk.PutItemCommand(input));
        const refused = await refusal(session, id, write);
        // It may have been refused by itself: an SDK that tries again after a lost answer.
        const landed = refused === undefined || (refused.reason === 'conflict' && refused.current?.record.revision === record.revision);
        const taken = landed ? await restamp(session) : undefined;
        if (taken !== undefined) return taken;
        if (refused === undefined) return { ok: true, version: record.revision };
        if (refused.reason === 'too-large' || refused.current !== undefined || attempts === 1) return refused;
      }
      throw storeUnavailable(`DynamoDB table ${tableName} refused a new item ${attempts} times, and had none`, undefined);
    });
  };

  const remove: RecordStore['delete'] = (id, version, call) =>
    connection.call(call, async (session) => {
      const input = { TableName: tableName, Key: keyOf(id), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const, ...onlyVersion(version) };
      const write = session.write((sdk) => new sdk.DeleteItemCommand(input));
      const refused = await refusal(session, id, write);
      return refused?.reason === 'conflict' ? refused : { ok: true, version };
    });

  const read: RecordStore['read'] = (id, call) => connection.call(call, (session) => get(session.read, id));
  const parts = partItems(connection, tableName, layout);

  const store: PartsStore = {
    name: 'dynamodb',
    limits: { maxRecordBytes: MAX_ITEM_BYTES, inlineBytes, maxKeyBytes: 1024, parts: PART_LIMITS },
    clock: { source: 'caller', uncertaintyMs, nowMs: clock.nowMs },
    read,
    create: (id, record, call) => put(id, record, undefined, call),
    replace: put,
    delete: remove,
    list: (query) => scan(table, query),
    putPart: parts.putPart,
    readPart: parts.readPart,
    purge: (query) => purgeTable(table, { record: remove, part: parts.remove, read }, uncertaintyMs, query),
    setUp: () => setUpTable(connection, tableName, layout),
    close: async () => connection.close(),
  };
  return dynamodb.on(store, { connection, tableName, outboxTable: options.outboxTable, keyOf, guardedPut, toStored });
}

function configure(given: DynamodbStoreOptions) {
  const tableName = process.env.RERUNSAFE_TABLE;
  const options = typeof given === 'object' && given !== null && !given.tableName && tableName ? { ...given, tableName } : given;
  checkOptions('dynamodbStore (its table may also be named by RERUNSAFE_TABLE)', options, RULES, ['tableName']);
  const { partitionKey = 'id', ttlAttribute = 'expiresAtS', uncertaintyMs = DEFAULT_UNCERTAINTY_MS } = options;
  if (partitionKey === ttlAttribute) throw invalidOptions('dynamodbStore', ['partitionKey and ttlAttribute must differ']);
  const layout: Layout = { partitionKey, ttlAttribute: ttlAttribute === false ? undefined : ttlAttribute };
  const { client, clock, inlineBytes = DEFAULT_INLINE_BYTES, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const name = options.tableName as string;
  return {
    tableName: name,
    layout,
    uncertaintyMs,
    inlineBytes,
    connection: connect({ client, tableName: name, partitionKey, requestTimeoutMs, clock }),
  };
}
