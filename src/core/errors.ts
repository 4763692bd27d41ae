/**
 * Every error this package raises by itself. The caller's own errors are never wrapped.
 *
 * @module
 */

/** Stable codes; a code never changes its meaning. */
export type ErrorCode =
  | 'IN_FLIGHT'
  | 'KEY_REUSED'
  | 'MISSING_KEY'
  | 'MISSING_SCOPE'
  | 'BLOCKED'
  | 'LEASE_LOST'
  | 'LEASE_HELD'
  | 'STALE_TOKEN'
  | 'STORE_UNAVAILABLE'
  | 'STORE_MISCONFIGURED'
  | 'WRITE_UNKNOWN'
  | 'RECORD_TOO_NEW'
  | 'RESULT_NOT_STORED'
  | 'DUPLICATE_STEP'
  | 'STEP_CHANGED'
  | 'INVALID_OPTIONS';

/** Codes after which the same call may succeed, unchanged, a little later. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set(['IN_FLIGHT', 'LEASE_LOST', 'LEASE_HELD', 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN']);

/** Known to all copies of the package in one process (ESM beside CommonJS, two versions). */
const BRAND = Symbol.for('rerunsafe.error');

export interface ErrorDetails {
  readonly cause?: unknown;
  /** When to try again, in ms, where that is known. */
  readonly retryAfterMs?: number | undefined;
  /** Whatever else is known: `operation`, `id`, `token`, `storedToken`, `problems`. Never the raw key. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/**
 * The one class of error raised by this package. Look at `code`, or ask {@link isRerunSafeError}, which also knows
 * errors of another copy of the package; `instanceof` does not.
 */
export class RerunSafeError extends Error {
  /** `RerunSafe.` and the code: all that some hosts tell of an error (Lambda's `errorType`, by which Step Functions chooses what to retry). */
  override readonly name: string;
  readonly code: ErrorCode;
  /** True when the same call may succeed later without a change. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = `RerunSafe.${code}`;
    this.code = code;
    this.retryable = RETRYABLE.has(code);
    this.retryAfterMs = details.retryAfterMs;
    this.facts = details.facts ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for an error of this package (of any copy of it), and, when `code` is given, only for that code. */
export function isRerunSafeError(error: unknown, code?: ErrorCode): error is RerunSafeError {
  return hasBrand(error, BRAND) && (code === undefined || (error as RerunSafeError).code === code);
}

const PERMANENT = Symbol.for('rerunsafe.permanent');
const NOT_DONE = Symbol.for('rerunsafe.not-done');

/**
 * Thrown by the work to say: this failed, and would fail again. It is remembered and replayed as the outcome.
 *
 * @example throw new PermanentError('card was declined', { code: 'card_declined', data: { last4: '4242' } });
 */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError';
  readonly code: string | number | undefined;
  /** Anything the codec can keep; replayed with the error. */
  readonly data: unknown;

  constructor(message: string, details: { code?: string | number | undefined; data?: unknown; name?: string; cause?: unknown } = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    if (details.name !== undefined) this.name = details.name;
    this.code = details.code;
    this.data = details.data;
    Object.defineProperty(this, PERMANENT, { value: true });
  }
}

/** Thrown by the work to say: nothing has happened on the far side. Safe to run again, even where a plain throw is *unknown*. */
export class NotDoneError extends Error {
  override readonly name: string = 'NotDoneError';

  constructor(message: string, details: { cause?: unknown } = {}) {
    super(message, details);
    Object.defineProperty(this, NOT_DONE, { value: true });
  }
}

/** Marks an error of this package as one that says: nothing has happened. */
export const asNotDone = <E extends object>(error: E): E => Object.defineProperty(error, NOT_DONE, { value: true });

export const isPermanentError = (error: unknown): error is PermanentError => hasBrand(error, PERMANENT);
export const isNotDoneError = (error: unknown): error is NotDoneError => hasBrand(error, NOT_DONE);

function hasBrand(value: unknown, brand: symbol): boolean {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** The first line of what the network said: "ECONNREFUSED 127.0.0.1:10002" is what a person looks for. */
function because(cause: unknown): string {
  const line = cause instanceof Error ? (cause.message.split('\n', 1)[0] as string).slice(0, 200) : '';
  return line === '' ? '' : `: ${line}`;
}

/** The store could not be reached or asked to slow down; the request did *not* take effect. */
export const storeUnavailable = (what: string, cause: unknown, retryAfterMs?: number): RerunSafeError =>
  new RerunSafeError('STORE_UNAVAILABLE', `The store did not take the request (${what}${because(cause)}). Nothing was changed; try again.`, {
    cause,
    retryAfterMs,
  });

/** A missing table, a refused credential, a row that is not ours: a person has to act. */
export const storeMisconfigured = (what: string, cause?: unknown): RerunSafeError =>
  new RerunSafeError('STORE_MISCONFIGURED', `The store cannot be used as it is set up: ${what}`, cause === undefined ? {} : { cause });

/** Two wrappers share an operation: each would take the other's outcome for its own. */
export const otherWrapper = (operation: string): RerunSafeError =>
  storeMisconfigured(`the record of ${operation} was written by another kind of wrapper. An operation names one piece of work: give each its own.`);

/** No answer came: the write may or may not have taken effect. */
export const writeUnknown = (what: string, cause: unknown): RerunSafeError =>
  new RerunSafeError('WRITE_UNKNOWN', `No answer to a write (${what}): it may have taken effect.`, { cause });

/** A later version wrote it. Nothing was run. */
export const recordTooNew = (what: string, facts: ErrorDetails['facts'] = {}): RerunSafeError =>
  new RerunSafeError('RECORD_TOO_NEW', `The record ${what}. Update rerunsafe; nothing was changed.`, { facts });
