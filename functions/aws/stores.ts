/**
 * Made once per process. No SDK is loaded before the first call.
 *
 * @module
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from 'rerunsafe/dynamodb';

/** Records, in the table that `RERUNSAFE_TABLE` names. */
export const store = dynamodbStore();

/** The app's own items: orders and reports. */
export const APP_TABLE = process.env.APP_TABLE ?? 'app';

let client: Promise<DynamoDBClient> | undefined;

/** A client for the app's own items, from the default chain. */
export function dynamodb(): Promise<DynamoDBClient> {
  client ??= import('@aws-sdk/client-dynamodb').then(({ DynamoDBClient }) => new DynamoDBClient({}));
  return client;
}
