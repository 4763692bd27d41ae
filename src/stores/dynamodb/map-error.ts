/**
 * What a failure of the SDK means: the request was refused, never sent, or nobody can say.
 *
 * @module
 */
import type { CancellationReason, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';

interface Failure {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly errors?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const THROTTLED: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TooManyRequestsException',
]);
/** Refused for what others are doing at this moment. */
const CONTENDED: ReadonlySet<string> = new Set([
  'TransactionConflictException',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
  'ResourceInUseException',
]);
const TLS_REFUSED = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_)/;

const failure = (error: unknown): Failure => (typeof error === 'object' && error !== null ? error : {});
const nameOf = (error: unknown): string => String(failure(error).name ?? '');
const messageOf = (error: unknown): string => String(failure(error).message ?? error);
const statusOf = (error: unknown): number | undefined => failure(error).$metadata?.httpStatusCode;

export const isConditionFailed = (error: unknown): boolean => nameOf(error) === 'ConditionalCheckFailedException';

export const isValidation = (error: unknown): boolean => nameOf(error) === 'ValidationException';
export const isTransactionInProgress = (error: unknown): boolean => nameOf(error) === 'TransactionInProgressException';

/** Why a transaction was cancelled, one reason for each of its items; undefined for any other failure. */
export const cancellationOf = (error: unknown): readonly CancellationReason[] | undefined =>
  nameOf(error) === 'TransactionCanceledException' ? ((error as TransactionCanceledException).CancellationReasons ?? []) : undefined;

/** Both of the service's wordings (put, update). */
export const isItemTooLarge = (error: unknown): boolean =>
  nameOf(error) === 'ValidationException' && /item size .*(exceeded|maximum allowed)/i.test(messageOf(error));

/** No connection came about, so no byte of the request left. */
function neverSent(error: unknown): boolean {
  const { code, syscall, errors } = failure(error);
  if (Array.isArray(errors) && errors.length > 0) return errors.every(neverSent);
  if (syscall === 'connect' || syscall === 'getaddrinfo' || TLS_REFUSED.test(String(code ?? ''))) return true;
  // The SDK has no code for a connection that did not come about in time.
  return nameOf(error) === 'TimeoutError' && /did not establish a connection/.test(messageOf(error));
}

/** Whether one try of a write, which ended like this, may have taken effect. A server error may come after the write. */
export function mayHaveHappened(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined && status >= 400 && status < 500 && status !== 408) return false;
  return !neverSent(error);
}

export interface Circumstances {
  /** Some try of some write of this call may have taken effect. */
  readonly inDoubt: boolean;
  /** A request left for the service at all. */
  readonly sent: boolean;
  readonly tableName: string;
  readonly partitionKey: string;
}

/** The store's error for what the SDK threw. */
export function toStoreError(error: unknown, { inDoubt, sent, tableName, partitionKey }: Circumstances): RerunSafeError {
  const name = nameOf(error);
  const what = `DynamoDB table ${tableName}: ${name === '' ? messageOf(error) : `${name}: ${messageOf(error)}`}`;
  if (inDoubt) return writeUnknown(what, error);
  const status = statusOf(error);
  if (THROTTLED.has(name) || CONTENDED.has(name) || status === 429) return storeUnavailable(what, error);
  if (name === 'ResourceNotFoundException')
    return storeMisconfigured(
      `${what}. Look whether this is the right region and account; then create the table, for example by calling setUp() once.`,
      error,
    );
  if (name === 'ValidationException') {
    return storeMisconfigured(`${what} The table must have the partition key "${partitionKey}" (a string) and no sort key.`, error);
  }
  if (TLS_REFUSED.test(String(failure(error).code ?? ''))) return storeMisconfigured(what, error);
  // A socket's code beside a status: the answer broke off behind its first line. Refused, nobody knows why, and no reason to call for a person.
  const brokeOff = failure(error).code !== undefined || name === 'SyntaxError';
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && !brokeOff) return storeMisconfigured(what, error);
  // Nothing left and no network was in the way: no region, no credentials, a client that is closed.
  if (!sent && name !== 'AbortError' && name !== 'TimeoutError' && failure(error).code === undefined) return storeMisconfigured(what, error);
  return storeUnavailable(what, error);
}
