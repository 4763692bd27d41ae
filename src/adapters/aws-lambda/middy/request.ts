/**
 * A request of middy as its middlewares see it, and what middy does not tell them.
 *
 * @module
 */
import type { Context } from 'aws-lambda';

/** Structural: nothing of middy is imported. Known to fit middy 7. */
export interface MiddyRequest<E> {
  event: E;
  context: Context;
  response?: unknown;
  /** Its mere presence ends the chain. */
  earlyResponse?: unknown;
  error?: unknown;
  // biome-ignore lint/complexity/noBannedTypes: whatever other middlewares have put there.
  internal: {};
}

/** The ends of a chain at which middy asks no `after` and no `onError` any more, or too late. */
export interface UntoldEnds {
  /** Another middleware answers early. Middy returns what comes back from here, so a promise is awaited. */
  readonly answered: (early: unknown) => unknown;
  /** An error handler has thrown. Middy throws on at once: nothing can be awaited. */
  readonly threw: (error: unknown) => void;
  /** Middy's early time-out has left the handler running, whatever the error handlers make of its error. */
  readonly timedOut: () => void;
}

/**
 * Watches what middy writes into the request: first `response = undefined` and `error` for whatever the chain has thrown, then, where an error handler
 * throws too, `error` once more.
 */
export function watchEnds(request: MiddyRequest<unknown>, { answered, threw, timedOut }: UntoldEnds): void {
  let failed = false;
  intercept(request, 'response', (given) => {
    if (given === undefined) failed = false;
    if (!('earlyResponse' in request) || !Object.is(given, request.earlyResponse)) return given;
    request.earlyResponse = answered(given);
    return request.earlyResponse;
  });
  intercept(request, 'error', (given) => {
    if (isMiddyTimeout(given)) timedOut();
    if (failed && mayBeThrown(given, request.error)) {
      const { response } = request;
      // A middleware that only sets the same error goes on from here: this one is asked after it, or an answer is set. Middy does not go on.
      setImmediate(() => {
        if (Object.is(request.error, given) && Object.is(request.response, response)) threw(given);
      });
    }
    failed = true;
    return given;
  });
}

/** Another guard in the same chain may watch it already: that one sees what this one made of it. */
function intercept(request: MiddyRequest<unknown>, name: 'response' | 'error', seen: (given: unknown) => unknown): void {
  let value = request[name];
  const own = (given: unknown): void => {
    value = given;
  };
  const { get = () => value, set = own } = Object.getOwnPropertyDescriptor(request, name) ?? {};
  Object.defineProperty(request, name, { configurable: true, enumerable: true, get, set: (given: unknown) => set(seen(given)) });
}

/** Middy marks an error that replaces another one, and cannot mark what is no object. A middleware that maps an error sets another object, unmarked. */
function mayBeThrown(given: unknown, standing: unknown): boolean {
  if (typeof given !== 'object' || given === null || given === standing) return true;
  return (given as { readonly originalError?: unknown }).originalError === standing;
}

/** Where Powertools' middlewares leave what has to be done when another one answers early; in the order in which Powertools does it. */
const POWERTOOLS_CLEANUPS = ['tracer', 'metrics', 'logger', 'idempotency'].map((name) => `powertools-for-aws.${name}`);

/** Without it, an early answer leaves the tracer's segment open, and the logger's keys to the next invocation. */
export async function cleanUpPowertools(request: MiddyRequest<unknown>): Promise<void> {
  const internal = request.internal as Readonly<Record<string, unknown>>;
  for (const name of POWERTOOLS_CLEANUPS) {
    const cleanUp = Object.hasOwn(internal, name) ? internal[name] : undefined;
    if (typeof cleanUp === 'function') await cleanUp(request);
  }
}

const JITTER_MS = 2;

/**
 * Whether an end may be middy's early time-out, while the handler is still running: a `timeoutEarlyResponse` may answer or throw anything, so only the
 * time that is left can tell. A timer may fire early by a fraction of each of two clocks' milliseconds, and late by any time.
 */
export function mayBeTimeout({ context }: MiddyRequest<unknown>, timeoutEarlyInMillis: number): boolean {
  const leftMs = context?.getRemainingTimeInMillis?.();
  return timeoutEarlyInMillis > 0 && leftMs !== undefined && leftMs <= timeoutEarlyInMillis + JITTER_MS;
}

/** Middy's own error, when its early time-out has left a handler running. */
export function isMiddyTimeout(error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { readonly name?: unknown; readonly cause?: { readonly package?: unknown } | null };
  return name === 'TimeoutError' && cause?.package === '@middy/core';
}
