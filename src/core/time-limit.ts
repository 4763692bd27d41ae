/**
 * One time limit for a whole call of a store, its tries and pauses included, beside what the caller's own signal says.
 *
 * @module
 */
export interface TimeLimit {
  /** Aborts at the end of the limit, or with the given signal. */
  readonly signal: AbortSignal;
  /** By `performance.now()`. */
  readonly endsAtMs: number;
  /** Also ends what does not look at the signal (credentials, a client's own retries). */
  race<T>(work: Promise<T>): Promise<T>;
  done(): void;
}

export function timeLimit(limitMs: number, given: AbortSignal | undefined): TimeLimit {
  const ended = new AbortController();
  const abort = (): void => ended.abort(given?.reason);
  const timer = setTimeout(() => ended.abort(new Error(`no answer within ${limitMs} ms`)), limitMs);
  if (given?.aborted === true) abort();
  else given?.addEventListener('abort', abort, { once: true });
  return {
    signal: ended.signal,
    endsAtMs: performance.now() + limitMs,
    race<T>(work: Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        // A turn later: what had not left yet is taken back, and says so.
        const stop = (): void => void setImmediate(() => reject(ended.signal.reason));
        if (ended.signal.aborted) stop();
        else ended.signal.addEventListener('abort', stop, { once: true });
        work.then(resolve, reject).finally(() => ended.signal.removeEventListener('abort', stop));
      });
    },
    done(): void {
      clearTimeout(timer);
      given?.removeEventListener('abort', abort);
    },
  };
}
