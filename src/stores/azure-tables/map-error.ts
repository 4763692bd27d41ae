/**
 * What a failed call to the table means: a refusal, or one of the package's errors.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { isUnsent, type Try } from './tries.ts';

/** `conflict`: something else stands there. `absent`: nothing does. `doubt`: an earlier try of the same call may have been applied. */
export interface Refusal {
  readonly refused: 'conflict' | 'absent' | 'too-large';
  readonly doubt: boolean;
  /** What the SDK threw. */
  readonly cause: unknown;
}

/** `harmless`: may be done twice (reads, making the table), so a lost answer is as good as none. */
export type Effect = 'harmless' | 'write';

export interface Failure {
  /** What was tried, for the message. */
  readonly what: string;
  readonly effect: Effect;
  readonly error: unknown;
  /** undefined: nobody watched the tries. */
  readonly tries: readonly Try[] | undefined;
}

/** The parts of the SDK's `RestError` that are read here. */
interface ServiceError {
  readonly statusCode?: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: { readonly odataError?: { readonly code?: string } };
  readonly response?: { readonly headers?: { get(name: string): string | undefined } };
}

const TOO_LARGE: ReadonlySet<string> = new Set(['EntityTooLarge', 'PropertyValueTooLarge', 'RequestBodyTooLarge', 'TooManyProperties']);

export function judge(failure: Failure): Refusal | RerunSafeError {
  const error = (typeof failure.error === 'object' && failure.error !== null ? failure.error : {}) as ServiceError;
  const status = error.statusCode ?? 0;
  const code = error.details?.odataError?.code ?? error.code ?? '';
  const refusal = { doubt: failure.tries?.includes('maybe') ?? true, cause: failure.error };

  if (status === 412 || code === 'EntityAlreadyExists') return { refused: 'conflict', ...refusal };
  if (status === 404 && code === 'ResourceNotFound') return { refused: 'absent', ...refusal };
  if (status === 413 || TOO_LARGE.has(code)) return { refused: 'too-large', ...refusal };

  if (failure.effect === 'write' && mayHaveHappened(failure, status)) return writeUnknown(failure.what, failure.error);
  // The credential of our own client has told already what is wrong.
  if (isRerunSafeError(failure.error, 'STORE_MISCONFIGURED')) return failure.error;
  if (isForPeople(status, failure)) return storeMisconfigured(advice(status, code, error.message), failure.error);
  return storeUnavailable(failure.what, failure.error, retryAfterMs(error));
}

function mayHaveHappened({ tries }: Failure, status: number): boolean {
  // An answer that was taken in (`answered`) and yet ended in a failure is no refusal either, unless the status says so.
  if (tries !== undefined) return tries.includes('maybe') || (tries.includes('answered') && !isRefusal(status));
  return !isRefusal(status);
}

const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 408 && status !== 429;

function isForPeople(status: number, { tries, error }: Failure): boolean {
  if (status !== 0) return isRefusal(status) && status !== 409;
  // Nothing was even sent, and neither an abort nor the network is to blame: a credential or an address.
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  // ETIMEDOUT: our own limit for a try, met while waiting for a token.
  const isGivenUp = name === 'AbortError' || code === 'ETIMEDOUT';
  return tries?.every((t) => t === 'never') === true && !isGivenUp && !isUnsent(error);
}

function advice(status: number, code: string, message: string | undefined): string {
  if (code === 'TableNotFound' || status === 404) return 'the table does not exist. Call setUp() once, or create the table.';
  if (status === 401 || status === 403) {
    return `the service refused the credentials (${code || status}). Give this identity the role "Storage Table Data Contributor", or check the account key.`;
  }
  return status === 0 ? `the request could not be made (${message}).` : `the service refused the request (${status} ${code}: ${message}).`;
}

/** Seconds or a date (RFC 9110 section 10.2.3); Cosmos DB says it in ms. */
function retryAfterMs(error: ServiceError): number | undefined {
  const headers = error.response?.headers;
  const ms = headers?.get('x-ms-retry-after-ms') ?? headers?.get('retry-after-ms');
  if (ms !== undefined && Number.isFinite(Number(ms))) return Number(ms);
  const after = headers?.get('retry-after');
  if (after === undefined) return undefined;
  const seconds = Number(after);
  const untilMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(after) - Date.now();
  return Number.isNaN(untilMs) ? undefined : Math.max(0, untilMs);
}
