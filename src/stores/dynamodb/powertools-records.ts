/**
 * Reading what Powertools for AWS Lambda (TypeScript) remembers, while a function moves over: work that it has finished must not run again.
 *
 * Our record of a key is a hash of operation, scope and key, theirs of a payload that a store never sees. So the reading goes with the work, under our
 * claim: what is found there becomes our outcome, and their table is asked no more.
 *
 * @module
 */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isRerunSafeError, RerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import { connect } from './client.ts';
import type { Item } from './item.ts';
import { nativeValue } from './native-value.ts';
import { first, type PowertoolsFirstOptions } from './powertools-first.ts';
import { powertoolsHash, powertoolsKey } from './powertools-key.ts';
import { configurePowertools, type PowertoolsSettings } from './powertools-settings.ts';

/** Names and defaults are those of Powertools' `DynamoDBPersistenceLayer` and `IdempotencyConfig`. */
export interface PowertoolsRecordsOptions {
  /** The table that Powertools writes to. */
  readonly tableName: string;
  /** A client of `@aws-sdk/client-dynamodb` v3; it stays yours to destroy. Default: one made on first use from the AWS default chain. */
  readonly client?: DynamoDBClient;
  /** The name of the Lambda function that wrote the records: their prefix. Default: the environment variable `AWS_LAMBDA_FUNCTION_NAME`. */
  readonly functionName?: string;
  /** The `keyPrefix` that the operation was wrapped with, if any. */
  readonly keyPrefix?: string;
  /** Default `md5`. */
  readonly hashFunction?: string;
  /** Default `id`. */
  readonly keyAttr?: string;
  readonly sortKeyAttr?: string;
  /** With a sort key only. Default `idempotency#<functionName>`. */
  readonly staticPkValue?: string;
  /** Default `status`. */
  readonly statusAttr?: string;
  /** Default `data`. */
  readonly dataAttr?: string;
  /** Default `expiration`. */
  readonly expiryAttr?: string;
  /** Default `in_progress_expiration`. */
  readonly inProgressExpiryAttr?: string;
  /** Default `validation`. */
  readonly validationKeyAttr?: string;
  /** The longest one look may take, the SDK's own retries included, ms. Default 5000. */
  readonly requestTimeoutMs?: number;
  /** Tells what has expired, epoch ms. Default: the wall clock, corrected by the dates of the service's answers. A virtual clock in tests. */
  readonly clock?: { nowMs(): number };
}

/** What Powertools remembers. Nothing, or nothing that has not expired, is undefined. */
export type PowertoolsRecord =
  | { readonly kind: 'completed'; readonly value: unknown }
  /** Somebody may be working on it: until its deadline, or without one until it expires. `retryAfterMs`: at most 10,000. */
  | { readonly kind: 'in-progress'; readonly retryAfterMs: number }
  /** It was begun, its deadline is over, and no outcome was left: nobody can say what it did. */
  | { readonly kind: 'unknown' };

export interface PowertoolsReadOptions {
  /** What `payloadValidationJmesPath` selects: compared with the hash that was stored, where one was. */
  readonly validate?: unknown;
  readonly signal?: AbortSignal;
}

export interface PowertoolsRecords {
  /**
   * What is remembered for a payload: what `eventKeyJmesPath` selected, or the whole payload. One strongly consistent read.
   *
   * @throws RerunSafeError `KEY_REUSED` where `validate` differs, `MISSING_KEY` for a payload of undefined, `RESULT_NOT_STORED` for a value that
   * cannot be read back, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`.
   */
  read(payload: unknown, options?: PowertoolsReadOptions): Promise<PowertoolsRecord | undefined>;
  /**
   * A handler that looks there first. Completed there: its value is the outcome, and `handler` does not run. In progress there: nothing runs, and
   * `IN_FLIGHT` is thrown. Otherwise `handler` runs. If the table cannot be read nothing runs either.
   *
   * @param payloadOf What Powertools hashed. null was hashed too; undefined is refused with `MISSING_KEY`, since nothing would ever be found.
   * @throws RerunSafeError as {@link read}, and `IN_FLIGHT`, `BLOCKED`; what the functions throw, untouched.
   * @example
   * const earlier = powertoolsRecords({ tableName: 'idempotency' });
   * export const handler = idempotent(
   *   { store, operation: 'payments/charge', key: (event: Payment) => event.orderId, onThrow: earlier.onThrow },
   *   earlier.first((event) => event.orderId, async (event, context, run) => charge(event, run.keyFor('charge'))),
   * );
   */
  first<E, C, R, T, F = never>(
    payloadOf: (event: E, context: C, run: R) => unknown,
    handler: (event: E, context: C, run: R) => T | Promise<T>,
    options?: PowertoolsFirstOptions<[event: E, context: C, run: R], NoInfer<T>, F>,
    // Optional, so that it is also the work of `runOnce`, which takes the run alone.
  ): (event: E, context?: C, run?: R) => Promise<T | F>;
  /**
   * For the option of that name: what {@link first} refused is withdrawn, so it counts as no attempt and binds the key to no input. undefined for any
   * other error.
   */
  readonly onThrow: (error: unknown) => 'withdraw' | undefined;
  /** Ends the client that was made here. */
  close(): void;
}

/** The clocks of whoever wrote a record and of whoever reads it may be so far apart. */
const UNCERTAINTY_MS = 2000;
const MOST_RETRY_AFTER_MS = 10_000;

/**
 * Reads the records of Powertools for AWS Lambda (TypeScript) in DynamoDB. Needs `dynamodb:GetItem` on its table, and never writes to it.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 * @example
 * const earlier = powertoolsRecords({ tableName: 'idempotency', functionName: 'payments' });
 * const found = await earlier.read(order.id);
 * if (found?.kind === 'completed') console.log(found.value);
 */
export function powertoolsRecords(options: PowertoolsRecordsOptions): PowertoolsRecords {
  const settings = configurePowertools(options);
  const { client, tableName, requestTimeoutMs, clock } = settings;
  const connection = connect({ client, tableName, partitionKey: settings.keying.keyAttr, requestTimeoutMs, clock });

  const get = async (key: Item, signal: AbortSignal | undefined): Promise<Item | undefined> => {
    try {
      return await connection.call(signal === undefined ? undefined : { signal }, async ({ read }) => {
        const { Item } = await read((sdk) => new sdk.GetItemCommand({ TableName: tableName, Key: key, ConsistentRead: true }));
        return Item;
      });
    } catch (error) {
      throw inWordsOfTheReader(error, tableName);
    }
  };

  const read: PowertoolsRecords['read'] = async (payload, given = {}) => {
    const { id, key } = powertoolsKey(settings.keying, payload);
    // Taken before the wait: whoever changes the payload meanwhile changes nothing.
    const validation = 'validate' in given ? powertoolsHash(settings.keying.hashFunction, given.validate ?? null) : undefined;
    const item = await get(key, given.signal);
    return item === undefined ? undefined : judge(settings, { id, item, validation, nowMs: connection.clock.nowMs() });
  };

  return { ...first({ read, tableName }), read, close: () => connection.close() };
}

interface Found {
  readonly id: string;
  readonly item: Item;
  readonly validation: string | undefined;
  readonly nowMs: number;
}

function judge({ tableName, attributes }: PowertoolsSettings, { id, item, validation, nowMs }: Found): PowertoolsRecord | undefined {
  const status = item[attributes.status]?.S;
  if (status !== 'COMPLETED' && status !== 'INPROGRESS') {
    throw storeMisconfigured(
      `the item ${id} of DynamoDB table ${tableName} has the ${attributes.status} ${JSON.stringify(status)}, so it is no record of Powertools for TypeScript. Look at statusAttr.`,
    );
  }
  // An attribute that is missing never ends, as in their own conditions.
  const expiresAtMs = Number(item[attributes.expiry]?.N ?? Number.POSITIVE_INFINITY) * 1000;
  const endsAtMs = Number(item[attributes.inProgressExpiry]?.N ?? expiresAtMs);
  const isOver = (atMs: number): boolean => nowMs > atMs + UNCERTAINTY_MS;
  // A deadline can lie behind the expiry, and the work goes on until the deadline.
  const isRunning = status === 'INPROGRESS' && !isOver(endsAtMs);
  if (!isRunning && isOver(expiresAtMs)) return undefined;
  const stored = item[attributes.validation]?.S;
  if (validation !== undefined && stored !== undefined && stored !== validation) {
    throw new RerunSafeError('KEY_REUSED', 'Powertools has a record of this key with another payload. Nothing was run; use a new key.', {
      facts: { tableName, item: id },
    });
  }
  if (isRunning) {
    const leftMs = endsAtMs + UNCERTAINTY_MS - nowMs;
    return { kind: 'in-progress', retryAfterMs: Math.max(1, Math.ceil(Math.min(leftMs, MOST_RETRY_AFTER_MS))) };
  }
  if (status === 'INPROGRESS') return { kind: 'unknown' };
  return { kind: 'completed', value: storedValue(item[attributes.data], id) };
}

function storedValue(data: Item[string] | undefined, id: string): unknown {
  try {
    return data === undefined ? undefined : nativeValue(data);
  } catch (cause) {
    throw new RerunSafeError('RESULT_NOT_STORED', `Powertools has finished this, but its value cannot be read from ${id}. Nothing was run.`, {
      cause,
    });
  }
}

/** What a failure means is said by the store's mapping; what to do about it is different for a table that is not ours. */
function inWordsOfTheReader(error: unknown, tableName: string): unknown {
  if (!isRerunSafeError(error, 'STORE_MISCONFIGURED')) return error;
  const { name } = (error.cause ?? {}) as { readonly name?: unknown };
  if (name === 'ResourceNotFoundException') {
    return storeMisconfigured(
      `there is no DynamoDB table ${tableName}. Where it was deleted after the move, take powertoolsRecords out.`,
      error.cause,
    );
  }
  if (name !== 'ValidationException') return error;
  return storeMisconfigured(
    `the key of DynamoDB table ${tableName} is another one. Give keyAttr, sortKeyAttr and staticPkValue as Powertools has them.`,
    error.cause,
  );
}
