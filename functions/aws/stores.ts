/**
 * Made once per process. No SDK is loaded before the first call.
 *
 * @module
 */
import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from 'rerunsafe/dynamodb';

/** Records, in the table that `RERUNSAFE_TABLE` names. */
export const store = dynamodbStore();

/**
 * For streams. They come back at once, and give up after a few times: a record whose sandbox died is free within 13 s (ten, and what clocks may differ),
 * and the next invocation waits for that instead of using a retry up.
 */
export const patient = { leaseMs: 10_000, renew: 'auto', onInFlight: { waitMs: 15_000 } } as const;

/** The app's own items: orders, shipments, reports and so on. */
export const APP_TABLE = process.env.APP_TABLE ?? 'app';

let client: Promise<DynamoDBClient> | undefined;

/** A client for the app's own items, from the default chain. */
export function dynamodb(): Promise<DynamoDBClient> {
  client ??= import('@aws-sdk/client-dynamodb').then(({ DynamoDBClient }) => new DynamoDBClient({}));
  return client;
}

type Fields = Readonly<Record<string, string | number>>;

/** Writes an item of the app, or writes it again. */
export async function put(id: string, fields: Fields, abortSignal: AbortSignal): Promise<void> {
  const { PutItemCommand } = await import('@aws-sdk/client-dynamodb');
  await (await dynamodb()).send(new PutItemCommand({ TableName: APP_TABLE, Item: itemOf(id, fields) }), { abortSignal });
}

/** False: it was written `by` somebody else. An earlier attempt of the same run is not somebody else. */
export async function putOnce(id: string, fields: Fields & { readonly by: string }, abortSignal: AbortSignal): Promise<boolean> {
  const { ConditionalCheckFailedException, PutItemCommand } = await import('@aws-sdk/client-dynamodb');
  const condition = {
    ConditionExpression: 'attribute_not_exists(id) OR #by = :by',
    ExpressionAttributeNames: { '#by': 'by' },
    ExpressionAttributeValues: { ':by': { S: fields.by } },
  };
  try {
    await (await dynamodb()).send(new PutItemCommand({ TableName: APP_TABLE, Item: itemOf(id, fields), ...condition }), { abortSignal });
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

function itemOf(id: string, fields: Fields): Record<string, AttributeValue> {
  const attributes = Object.entries(fields).map(([name, value]) => [name, typeof value === 'number' ? { N: String(value) } : { S: value }]);
  return { id: { S: id }, ...(Object.fromEntries(attributes) as Record<string, AttributeValue>) };
}
