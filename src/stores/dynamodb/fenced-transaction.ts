/**
 * Writes to the caller's own tables that a stale holder cannot make. The strongest form that DynamoDB has: one transaction with a check of the item of
 * the lease or record, which fails when anybody has taken it.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  CancellationReason,
  ConditionCheck,
  DynamoDBClient,
  TransactWriteItem,
  TransactWriteItemsCommandInput,
  TransactWriteItemsCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import { checkFence, mustHold, rowIdOf } from '../../core/fence.ts';
import { checkOptions, has, invalidOptions, isInteger, isName, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { connect, type Session } from './client.ts';
import type { Item } from './item.ts';
import { cancellationOf, isTransactionInProgress, isValidation } from './map-error.ts';

export interface FencedTransactionOptions {
  /** The table of the store that the lease or record is kept in. Default: the environment variable `RERUNSAFE_TABLE`. */
  readonly tableName?: string;
  /** As `dynamodbStore` has it. Default `id`. */
  readonly partitionKey?: string;
  /** The longest the call may take in all, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The service takes 100 in one transaction, and one of them is ours. */
const MOST_ITEMS = 99;
/** Others at work on the same items are gone in milliseconds; with these pauses the last try comes after two to three seconds. */
const ROUNDS = 8;
const MOST_PAUSE_MS = 800;
/** What others are doing, or doing too much of, at this moment. */
const PASSING: ReadonlySet<string> = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/**
 * Writes `items` (up to 99, in any tables of the account and region) in one transaction, if the lease (of `storeLeases(dynamodbStore(…))`) or the record
 * that the fence is of still has this owner and token. A successor that takes the lease, and only then reads (with `ConsistentRead`), sees all that its
 * predecessor committed and nothing that comes later: no claim is needed first, no attribute is added, and a deletion leaves nothing behind.
 *
 * What counts is whether somebody else has taken it. A lease that has run out or was released, and that nobody has taken since, still is its last
 * holder's: what it writes comes before anything that a successor does.
 *
 * One request, and again while others are at work on the same items. All tries carry one `ClientRequestToken`, so that a transaction whose answer was
 * lost is recognised by the service. A lease must not be named like the id of a record.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED` (also where the table has
 * nothing under the fence's name): nothing was written; `WRITE_UNKNOWN`: it may have taken effect, or still do; `INVALID_OPTIONS`. Where a condition of
 * yours failed, or the service does not take an item, this is the SDK's own `TransactionCanceledException` or `ValidationException`, and nothing was
 * written; `CancellationReasons` are in the order of your items, with one more at the end.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) =>
 *   fencedTransaction(client, lease.fence, [{ Put: { TableName: 'reports', Item: { id: { S: '2026-03-01' }, total: { N: '7' } } } }]),
 * );
 */
export async function fencedTransaction(
  client: DynamoDBClient,
  fence: Fence,
  items: readonly TransactWriteItem[],
  options: FencedTransactionOptions = {},
): Promise<TransactWriteItemsCommandOutput> {
  const { tableName, partitionKey, requestTimeoutMs, signal } = configure(client, fence, items, options);
  const check: ConditionCheck = {
    TableName: tableName,
    Key: { [partitionKey]: { S: rowIdOf(fence.id) } },
    ConditionExpression: '#owner = :owner AND #token = :token',
    ExpressionAttributeNames: { '#owner': 'owner', '#token': 'token' },
    ExpressionAttributeValues: { ':owner': { S: fence.owner }, ':token': { N: String(fence.token) } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
  // Ours comes last: the reasons of a cancellation are counted from the caller's first.
  const input = { TransactItems: [...items, { ConditionCheck: check }], ClientRequestToken: randomUUID() };
  const connection = connect({ client, tableName: tablesOf(tableName, items), partitionKey, requestTimeoutMs, clock: undefined });
  const theirs = new Set<unknown>();
  try {
    return await connection.call(signal === undefined ? {} : { signal }, (session) => submit({ session, fence, check, theirs }, input));
  } catch (error) {
    const { cause } = error as Error;
    // In doubt it stays so: an earlier try may still land, when what is in its way has gone.
    throw theirs.has(cause) && !isRerunSafeError(error, 'WRITE_UNKNOWN') ? cause : error;
  }
}

interface Call {
  readonly session: Session;
  readonly fence: Fence;
  readonly check: ConditionCheck;
  /** Failures that are about the caller's items. */
  readonly theirs: Set<unknown>;
}

async function submit({ session, fence, check, theirs }: Call, input: TransactWriteItemsCommandInput): Promise<TransactWriteItemsCommandOutput> {
  for (let round = 1; ; round++) {
    try {
      return await session.write((sdk) => new sdk.TransactWriteItemsCommand(input));
    } catch (error) {
      if (isValidation(error)) theirs.add(error);
      const reasons = cancellationOf(error);
      if (reasons === undefined && !isTransactionInProgress(error)) throw error;
      const ours = reasons?.at(-1);
      if (ours?.Code === 'ConditionalCheckFailed') {
        mustHold(fence, holderIn(ours.Item ?? (await read(session, check))), `the table ${check.TableName}`);
        // Owners and tokens never come again, so this cannot be; and it must not pass for a failure of the caller's items.
        throw storeUnavailable('the check of the lease failed, and yet it is ours', error);
      }
      if (reasons !== undefined && !isPassing(reasons)) {
        theirs.add(error);
        throw error;
      }
      if (round === ROUNDS) throw storeUnavailable(`others were at work on the items of a transaction, ${ROUNDS} times in a row`, error);
    }
    await pause(Math.min(MOST_PAUSE_MS, 25 * 2 ** round) * (0.5 + Math.random() / 2));
  }
}

function isPassing(reasons: readonly CancellationReason[]): boolean {
  const codes = reasons.map(({ Code = 'None' }) => Code).filter((code) => code !== 'None');
  return codes.length > 0 && codes.every((code) => PASSING.has(code));
}

/** Not every service returns the item with its refusal, and "not returned" must not pass for "absent". */
async function read(session: Session, { TableName, Key }: ConditionCheck): Promise<Item | undefined> {
  return (await session.read((sdk) => new sdk.GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

function holderIn(item: Item | undefined): { owner: string; token: number } | undefined {
  return item && { owner: item.owner?.S ?? '', token: Number(item.token?.N) };
}

/** What is wrong with one of them is told without saying which. */
function tablesOf(tableName: string, items: readonly TransactWriteItem[]): string {
  const theirs = items.map(({ Put, Update, Delete, ConditionCheck: check }) => (Put ?? Update ?? Delete ?? check)?.TableName ?? '');
  return [...new Set([tableName, ...theirs])].join(', ');
}

const RULES = { tableName: isName(1024), partitionKey: isName(255), requestTimeoutMs: isInteger(1), signal: isSignal };

function configure(client: unknown, fence: unknown, items: unknown, given: FencedTransactionOptions) {
  checkOptions('fencedTransaction', { client }, { client: has('send') }, ['client']);
  checkFence(fence);
  if (!Array.isArray(items) || items.length > MOST_ITEMS) {
    throw invalidOptions('fencedTransaction', [`the items must be an array of at most ${MOST_ITEMS}`]);
  }
  const odd = items.flatMap((item, n) => (isItem(item) ? [] : [`item ${n} must be an object with exactly one of ${[...KINDS].join(', ')}`]));
  if (odd.length > 0) throw invalidOptions('fencedTransaction', odd);
  const tableName = given.tableName ?? process.env.RERUNSAFE_TABLE;
  const { partitionKey = 'id', requestTimeoutMs = 5_000, signal } = given;
  checkOptions('fencedTransaction', { ...given, tableName }, RULES, ['tableName']);
  return { tableName: tableName as string, partitionKey, requestTimeoutMs, signal };
}

const KINDS: ReadonlySet<string> = new Set(['Put', 'Update', 'Delete', 'ConditionCheck']);

/** The SDK leaves out what it does not know. */
function isItem(item: unknown): boolean {
  const given = Object.entries((item ?? {}) as object).filter(([, value]) => value !== undefined);
  return given.length === 1 && given.every(([kind, value]) => KINDS.has(kind) && typeof value === 'object' && value !== null);
}
