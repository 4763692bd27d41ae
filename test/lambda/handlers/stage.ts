/**
 * In a sandbox: the store and the ledger that its environment names.
 *
 * @module
 */
import { request } from 'node:http';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isRerunSafeError } from 'rerunsafe';
import { dynamodbStore } from 'rerunsafe/dynamodb';

/** From `RERUNSAFE_TABLE` and the default chain, as in an app. */
export const store = dynamodbStore();

/** The app's own items. */
export const APP_TABLE = process.env.APP_TABLE ?? '';

/** What the test adds to the options of the wrapper. */
export const options = JSON.parse(process.env.OPTIONS ?? '{}') as object;

let client: Promise<DynamoDBClient> | undefined;

export function dynamodb(): Promise<DynamoDBClient> {
  client ??= import('@aws-sdk/client-dynamodb').then(({ DynamoDBClient }) => new DynamoDBClient({}));
  return client;
}

interface Telling {
  /** Wait until the test lets go. */
  readonly hold?: boolean;
  readonly signal?: AbortSignal;
}

/** Each by a connection of its own: one that is kept alive would be left behind by the test itself. */
export function tell(id: string, what: string, facts: object = {}, { hold, signal }: Telling = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(process.env.LEDGER_URL ?? '', { method: 'POST', agent: false, ...(signal === undefined ? {} : { signal }) }, (response) => {
      response.on('end', () => resolve()).on('error', reject);
      response.resume();
    });
    // An abort is told as what it was for.
    sent.on('error', (error) => reject(signal?.aborted === true ? signal.reason : error));
    sent.end(JSON.stringify({ id, what, facts, hold }));
  });
}

/** `done`, or what was thrown: the code of an error of ours, the name of any other. */
export async function seen(body: () => unknown): Promise<string> {
  try {
    await body();
    return 'done';
  } catch (error) {
    return isRerunSafeError(error) ? error.code : (error as Error).name;
  }
}
