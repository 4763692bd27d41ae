/**
 * Refusals as problem documents (RFC 9457). Never echo the key, nor what the store said.
 *
 * @module
 */
import type { ErrorCode, RerunSafeError } from '../core/errors.ts';
import type { HttpReply } from './message.ts';

export type ProblemCode = ErrorCode | 'MALFORMED_KEY' | 'KEY_EXPIRED' | 'REPLAY_REFUSED' | 'BODY_TOO_LARGE';

interface Problem {
  /** The end of the `type` URI. */
  readonly type: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Whether the same request may succeed unchanged: then `Retry-After` says when. */
  readonly again?: true;
}

/** One `type` for each thing a client can tell apart. Titles where the draft has some are the draft's. Published in docs/http-protocol.md. */
export const PROBLEMS: Partial<Record<ProblemCode, Problem>> = {
  MISSING_KEY: {
    type: 'key-missing',
    status: 400,
    title: 'Idempotency-Key is missing',
    detail: 'The request has no idempotency key. Nothing was done.',
  },
  MALFORMED_KEY: {
    type: 'key-malformed',
    status: 400,
    title: 'Idempotency-Key is malformed',
    detail: 'The key must be one quoted string (or bare visible ASCII) of 1 to 255 characters. Nothing was done.',
  },
  KEY_EXPIRED: {
    type: 'key-expired',
    status: 400,
    title: 'Idempotency-Key is too old',
    detail:
      'The key was made longer ago than requests are remembered. Nothing was done now; find out whether it was done then, before you use a new key.',
  },
  MISSING_SCOPE: {
    type: 'scope-missing',
    status: 401,
    title: 'The caller is not known',
    detail: 'It cannot be told on whose behalf this request is made. Nothing was done.',
  },
  REPLAY_REFUSED: {
    type: 'replay-refused',
    status: 403,
    title: 'The earlier reply may not be seen any more',
    detail: 'The request was done. The caller is no longer allowed to see what it was answered.',
  },
  BODY_TOO_LARGE: { type: 'body-too-large', status: 413, title: 'The body is too large', detail: 'Nothing was done.' },
  KEY_REUSED: {
    type: 'key-reused',
    status: 422,
    title: 'Idempotency-Key is already used',
    detail: 'This key was used for another request. Nothing was done; use a new key.',
  },
  IN_FLIGHT: {
    type: 'in-flight',
    status: 409,
    title: 'A request is outstanding for this Idempotency-Key',
    detail: 'The same request is still going on. Try again, unchanged, a little later.',
    again: true,
  },
  BLOCKED: {
    type: 'blocked',
    status: 409,
    title: 'The outcome of an earlier attempt is unknown',
    detail: 'A person has to resolve it. Trying again changes nothing.',
  },
  RESULT_NOT_STORED: {
    type: 'result-not-stored',
    status: 409,
    title: 'The request was done, its reply was not kept',
    detail: 'It was done once and is not done again; the reply went to the first caller only.',
  },
  LEASE_LOST: {
    type: 'lease-lost',
    status: 503,
    title: 'The request was overtaken',
    detail: 'This attempt took too long and another one may be at work. Try again, unchanged.',
    again: true,
  },
  STORE_UNAVAILABLE: {
    type: 'store-unavailable',
    status: 503,
    title: 'The request could not be guarded',
    detail: 'The record of requests could not be reached. Try again, unchanged.',
    again: true,
  },
  WRITE_UNKNOWN: {
    type: 'write-unknown',
    status: 503,
    title: 'The state of the request is in doubt',
    detail: 'The record of requests did not answer. Try again, unchanged.',
    again: true,
  },
};

/** Whatever else is wrong: the service, not the request. */
export const MISCONFIGURED: Problem = {
  type: 'misconfigured',
  status: 500,
  title: 'The service is not set up correctly',
  detail: 'A person has to act. Trying again changes nothing.',
};

export function problemReply(base: string, code: ProblemCode, error?: RerunSafeError): HttpReply {
  const { type, again, ...problem } = PROBLEMS[code] ?? MISCONFIGURED;
  const headers: [string, string][] = [['content-type', 'application/problem+json']];
  if (again) headers.push(['retry-after', String(Math.max(1, Math.ceil((error?.retryAfterMs ?? 1_000) / 1_000)))]);
  return { status: problem.status, headers, body: new TextEncoder().encode(JSON.stringify({ type: `${base}${type}`, ...problem, code })) };
}
