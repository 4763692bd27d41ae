/**
 * What an answer of the Blob service means.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';

export type FailureKind =
  | 'no-blob'
  | 'no-container'
  /** Somebody has the lease. */
  | 'held'
  /** The lease named in the request is not (or no longer) the blob's. */
  | 'not-holder'
  /** The blob is leased, and the request named no lease. */
  | 'leased'
  /** `If-Match` did not hold. */
  | 'changed'
  | 'exists'
  /** Did not happen; may go well later. */
  | 'unavailable'
  /** May have happened. */
  | 'unknown'
  | 'misconfigured';

export interface Failure {
  readonly kind: FailureKind;
  readonly error: unknown;
  readonly retryAfterMs?: number;
}

const BY_CODE: Readonly<Record<string, FailureKind>> = {
  BlobNotFound: 'no-blob',
  ContainerNotFound: 'no-container',
  ContainerBeingDeleted: 'unavailable',
  LeaseAlreadyPresent: 'held',
  LeaseIsBreakingAndCannotBeAcquired: 'held',
  LeaseLost: 'not-holder',
  LeaseNotPresentWithBlobOperation: 'not-holder',
  LeaseIdMismatchWithBlobOperation: 'not-holder',
  LeaseNotPresentWithLeaseOperation: 'not-holder',
  LeaseIdMismatchWithLeaseOperation: 'not-holder',
  LeaseIsBrokenAndCannotBeRenewed: 'not-holder',
  LeaseIdMissing: 'leased',
  ConditionNotMet: 'changed',
  BlobAlreadyExists: 'exists',
  ContainerAlreadyExists: 'exists',
  ServerBusy: 'unavailable',
  OperationTimedOut: 'unknown',
  InternalError: 'unknown',
};

/** The connection was never made, so the request cannot have arrived. A time-out is not among them: it may be one of the answer. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);

interface RestErrorLike {
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly details?: { readonly errorCode?: unknown };
  readonly response?: { readonly headers?: { get?(name: string): string | undefined } };
}

export function judge(error: unknown): Failure {
  if (typeof error !== 'object' || error === null) return { kind: 'unknown', error };
  if (isRerunSafeError(error, 'STORE_MISCONFIGURED')) return { kind: 'misconfigured', error };
  const { statusCode, code, details, response } = error as RestErrorLike;
  if (typeof statusCode !== 'number') return { kind: NEVER_SENT.has(code) ? 'unavailable' : 'unknown', error };
  // An answer to HEAD has no body: its code is in a header only, which the SDK puts into `details`.
  const known = BY_CODE[String(code ?? details?.errorCode)] ?? BY_CODE[String(details?.errorCode)];
  const retryAfter = retryAfterMs(response?.headers?.get?.('retry-after'));
  return { kind: known ?? byStatus(statusCode), error, ...(retryAfter === undefined ? {} : { retryAfterMs: retryAfter }) };
}

function byStatus(status: number): FailureKind {
  if (status === 429 || status === 503) return 'unavailable';
  if (status === 408 || status >= 500) return 'unknown';
  if (status === 404) return 'no-blob';
  if (status === 412) return 'changed';
  return 'misconfigured';
}

function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header ?? 'none');
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The error for a failure that the protocol has no better answer to. `what` completes "the store did not take the request (…)". */
export function toError(what: string, failure: Failure & { readonly doubt: boolean }): RerunSafeError {
  const { kind, error, doubt } = failure;
  if (kind === 'no-container') {
    return storeMisconfigured('the container for leases does not exist. Call setUp() once, or create it when you deploy.', error);
  }
  if (kind === 'misconfigured') {
    return isRerunSafeError(error) ? error : storeMisconfigured(`the Blob service refused a request (${what}: ${wordsOf(error)}).`, error);
  }
  return doubt ? writeUnknown(what, error) : storeUnavailable(what, error, failure.retryAfterMs);
}

function wordsOf(error: unknown): string {
  const { code, details, statusCode } = error as RestErrorLike;
  return String(code ?? details?.errorCode ?? statusCode);
}
