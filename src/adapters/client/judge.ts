/**
 * What an answer means, and when the next try may be made: pure decisions.
 *
 * @module
 */

/** What is looked at of an answer. */
export interface AnswerFacts {
  readonly status: number;
  /** From `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** The `type` of a problem document. */
  readonly problemType: string | undefined;
}

/** `again`: the same request may succeed, unchanged. */
export type Verdict = { readonly kind: 'final' } | { readonly kind: 'again'; readonly retryAfterMs: number | undefined };

const PASSING: ReadonlySet<number> = new Set([425, 429, 500, 502, 503, 504]);
const FINAL: Verdict = { kind: 'final' };

/**
 * 409 has two meanings: "still going on" and "a person has to look at it". The type of the problem says which; without one, only a server that
 * says when to come back wants us back.
 */
export function judgeAnswer({ status, retryAfterMs, problemType }: AnswerFacts): Verdict {
  const type = /(?:^|[:/#])([a-z-]+)$/.exec(problemType ?? '')?.[1];
  if (type === 'misconfigured') return FINAL;
  if (status === 409) {
    const again = type === 'in-flight' || (retryAfterMs !== undefined && type !== 'blocked' && type !== 'result-not-stored');
    return again ? { kind: 'again', retryAfterMs } : FINAL;
  }
  return PASSING.has(status) ? { kind: 'again', retryAfterMs } : FINAL;
}

export interface Budget {
  /** Retries made so far. */
  readonly retries: number;
  readonly maxRetries: number;
  /** What is left of all that bounds this send: its own time, and the life of its key. */
  readonly leftMs: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/**
 * The pause before the next try, ms; undefined: no more. Never shorter than the server said, and jittered, so that callers who failed together do
 * not come back together.
 *
 * @param random In [0, 1).
 */
export function pauseMs(retryAfterMs: number | undefined, { retries, maxRetries, leftMs }: Budget, random: number): number | undefined {
  if (retries >= maxRetries) return undefined;
  const step = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(retries, 20));
  const pause = Math.ceil(retryAfterMs === undefined ? step / 2 + (random * step) / 2 : retryAfterMs + random * FIRST_PAUSE_MS);
  return pause < leftMs ? pause : undefined;
}
