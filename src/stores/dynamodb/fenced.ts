/**
 * Writes to your own tables that a stale holder cannot make: each item remembers the highest token that wrote it, and refuses a lower one.
 *
 * @module
 */
import type {
  AttributeValue,
  DeleteItemCommandInput,
  DynamoDBClient,
  PutItemCommandInput,
  PutItemCommandOutput,
  UpdateItemCommandInput,
  UpdateItemCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { RerunSafeError } from '../../core/errors.ts';
import { invalidOptions } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { loadSdk, type Sdk } from './client.ts';
import type { Item } from './item.ts';
import { isConditionFailed } from './map-error.ts';

export type FencedPutInput = PutItemCommandInput;
/** Without an `UpdateExpression` it claims the item: from then on lower tokens are refused. Ask for `ReturnValues: 'ALL_NEW'` to read it in the same request. */
export type FencedUpdateInput = UpdateItemCommandInput;
export type FencedDeleteInput = Pick<
  DeleteItemCommandInput,
  'TableName' | 'Key' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

export interface FenceOptions {
  /** The attribute that keeps the highest token. Default `fence`. One item must be guarded by one lease only: tokens of two cannot be compared. */
  readonly fenceAttribute?: string;
  readonly signal?: AbortSignal;
}

const DELETED = 'fenceDeleted';

interface Conditions {
  readonly ConditionExpression?: string | undefined;
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue> | undefined;
}

/** A deleted item leaves its token behind, so that a stale holder cannot bring it back. Treat such an item as absent. */
export const isFencedDeletion = (item: Readonly<Record<string, unknown>> | undefined): boolean => item !== undefined && item[DELETED] !== undefined;

/**
 * Puts an item, unless a higher token has written it.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`. What the SDK throws comes through untouched, so a
 * `ConditionalCheckFailedException` is about your own condition.
 *
 * @example
 * await withLease(leases, 'nightly', {}, (lease) => fencedPut(client, lease.fence, { TableName: 'reports', Item: { id: { S: 'today' }, total: { N: '7' } } }));
 */
export async function fencedPut(
  client: DynamoDBClient,
  fence: Fence,
  input: FencedPutInput,
  options: FenceOptions = {},
): Promise<PutItemCommandOutput> {
  const sdk = await loadSdk();
  const attribute = fenceAttribute(options);
  const Item = { ...input.Item, [attribute]: { N: tokenOf(fence) } };
  const command = new sdk.PutItemCommand({ ...input, Item, ...fenced(input, fence, attribute), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
  return guarded(client.send(command, sendOptions(options)), async (returned) => {
    const standing = returned ?? (await readItem(sdk, client, input.TableName, await keyOf(sdk, client, input.TableName, Item)));
    return staleness(standing, fence, attribute);
  });
}

/**
 * Updates an item, unless a higher token has written it.
 *
 * @throws RerunSafeError as {@link fencedPut}.
 *
 * @example
 * const { Attributes } = await fencedUpdate(client, fence, { TableName: 'reports', Key: { id: { S: 'today' } }, ReturnValues: 'ALL_NEW' }); // claims
 */
export async function fencedUpdate(
  client: DynamoDBClient,
  fence: Fence,
  input: FencedUpdateInput,
  options: FenceOptions = {},
): Promise<UpdateItemCommandOutput> {
  const sdk = await loadSdk();
  const attribute = fenceAttribute(options);
  const conditions = fenced(input, fence, attribute);
  let UpdateExpression = withAction(input.UpdateExpression ?? '', 'SET', '#rerunsafeFence = :rerunsafeToken');
  if (input.UpdateExpression !== undefined) {
    // What is written is there again; a claim alone changes nothing but the token.
    UpdateExpression = withAction(UpdateExpression, 'REMOVE', '#rerunsafeDeleted');
    conditions.ExpressionAttributeNames['#rerunsafeDeleted'] = DELETED;
  }
  const command = new sdk.UpdateItemCommand({ ...input, ...conditions, UpdateExpression, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
  return guarded(client.send(command, sendOptions(options)), async (returned) =>
    staleness(returned ?? (await readItem(sdk, client, input.TableName, input.Key)), fence, attribute),
  );
}

/**
 * Deletes an item, unless a higher token has written it. In its place stays `{ ...Key, fence, fenceDeleted: true }` (see {@link isFencedDeletion}).
 *
 * @throws RerunSafeError as {@link fencedPut}.
 */
export async function fencedDelete(client: DynamoDBClient, fence: Fence, input: FencedDeleteInput, options: FenceOptions = {}): Promise<void> {
  const { Key, ...rest } = input;
  await fencedPut(client, fence, { ...rest, Item: { ...Key, [DELETED]: { BOOL: true } } }, options);
}

function fenceAttribute({ fenceAttribute: attribute = 'fence' }: FenceOptions): string {
  if (typeof attribute === 'string' && attribute !== '' && attribute !== DELETED) return attribute;
  throw invalidOptions('fenced write', [`fenceAttribute must be the name of an attribute other than ${DELETED}`]);
}

function tokenOf({ token }: Fence): string {
  if (Number.isSafeInteger(token) && token >= 0) return String(token);
  throw invalidOptions('fenced write', ['the token of the fence must be a whole number']);
}

const sendOptions = ({ signal }: FenceOptions) => (signal === undefined ? {} : { abortSignal: signal });

function fenced(input: Conditions, fence: Fence, attribute: string) {
  const own = 'attribute_not_exists(#rerunsafeFence) OR #rerunsafeFence <= :rerunsafeToken';
  return {
    ConditionExpression: input.ConditionExpression === undefined ? own : `(${input.ConditionExpression}) AND (${own})`,
    ExpressionAttributeNames: { ...input.ExpressionAttributeNames, '#rerunsafeFence': attribute } as Record<string, string>,
    ExpressionAttributeValues: { ...input.ExpressionAttributeValues, ':rerunsafeToken': { N: tokenOf(fence) } },
  };
}

/** Each clause may stand only once in an update expression. */
function withAction(expression: string, clause: 'SET' | 'REMOVE', action: string): string {
  const found = new RegExp(`(?<![#:.\\w])${clause}(?=\\s)`, 'i');
  return found.test(expression) ? expression.replace(found, `${clause} ${action},`) : `${clause} ${action} ${expression}`.trimEnd();
}

async function guarded<T>(sending: Promise<T>, judge: (standing: Item | undefined) => Promise<RerunSafeError | undefined>): Promise<T> {
  try {
    return await sending;
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    throw (await judge((error as { Item?: Item }).Item)) ?? error;
  }
}

function staleness(standing: Item | undefined, fence: Fence, attribute: string): RerunSafeError | undefined {
  const storedToken = Number(standing?.[attribute]?.N);
  // Not higher: it was the caller's own condition that failed.
  if (!(storedToken > fence.token)) return undefined;
  return new RerunSafeError('STALE_TOKEN', `A newer holder of ${fence.id} has written this item (token ${storedToken}, ours is ${fence.token}).`, {
    facts: { id: fence.id, token: fence.token, storedToken },
  });
}

async function readItem(sdk: Sdk, client: DynamoDBClient, TableName: string | undefined, Key: Item | undefined): Promise<Item | undefined> {
  return (await client.send(new sdk.GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

async function keyOf(sdk: Sdk, client: DynamoDBClient, TableName: string | undefined, item: Item): Promise<Item> {
  const { Table } = await client.send(new sdk.DescribeTableCommand({ TableName }));
  const names = (Table?.KeySchema ?? []).map(({ AttributeName }) => AttributeName ?? '');
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name)));
}
