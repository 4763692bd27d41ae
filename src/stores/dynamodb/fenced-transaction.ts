/**
 * Writes to the caller's own tables that a stale holder cannot make. The strongest form that DynamoDB has: one transaction with a check of the item of
 * the lease or record, which fails when anybody has taken it.
 *
 * @module
 */
import type { ConditionCheck, DynamoDBClient, TransactWriteItem, TransactWriteItemsCommandOutput } from '@aws-sdk/client-dynamodb';
import { storeUnavailable } from '../../core/errors.ts';
import { checkFence, mustHold, rowIdOf } from '../../core/fence.ts';
import { checkOptions, has, isInteger, isName, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { connect } from './client.ts';
import type { Item } from './item.ts';
import { checkItems, transact } from './transact.ts';

export interface FencedTransactionOptions {
  /** The table of the store that the lease or record is kept in. Default: the environment variable `RERUNSAFE_TABLE`. */
  readonly tableName?: string;
  /** As `dynamodbStore` has it. Default `id`. */
  readonly partitionKey?: string;
  /** The longest the call may take in all, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

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
  const at = { TableName: tableName, Key: { [partitionKey]: { S: rowIdOf(fence.id) } } };
  const check: ConditionCheck = {
    ...at,
    ConditionExpression: '#owner = :owner AND #token = :token',
    ExpressionAttributeNames: { '#owner': 'owner', '#token': 'token' },
    ExpressionAttributeValues: { ':owner': { S: fence.owner }, ':token': { N: String(fence.token) } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
  const connection = connect({ client, tableName, partitionKey, requestTimeoutMs, clock: undefined });
  const refused = (standing: Item | undefined, cause: unknown): never => {
    mustHold(fence, holderIn(standing), `the table ${tableName}`);
    // Owners and tokens never come again, so this cannot be; and it must not pass for a failure of the caller's items.
    throw storeUnavailable('the check of the lease failed, and yet it is ours', cause);
  };
  return transact<never>({ connection, items, own: { ConditionCheck: check }, at, refused, signal });
}

function holderIn(item: Item | undefined): { owner: string; token: number } | undefined {
  return item && { owner: item.owner?.S ?? '', token: Number(item.token?.N) };
}

const RULES = { tableName: isName(1024), partitionKey: isName(255), requestTimeoutMs: isInteger(1), signal: isSignal };

function configure(client: unknown, fence: unknown, items: unknown, given: FencedTransactionOptions) {
  checkOptions('fencedTransaction', { client }, { client: has('send') }, ['client']);
  checkFence(fence);
  checkItems('fencedTransaction', items);
  const tableName = given.tableName ?? process.env.RERUNSAFE_TABLE;
  const { partitionKey = 'id', requestTimeoutMs = 5_000, signal } = given;
  checkOptions('fencedTransaction', { ...given, tableName }, RULES, ['tableName']);
  return { tableName: tableName as string, partitionKey, requestTimeoutMs, signal };
}
