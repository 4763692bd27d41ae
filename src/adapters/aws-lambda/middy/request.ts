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

/**
 * Calls `answer` when another middleware answers early: middy then skips everything that is left, this middleware's `after` and `onError` too, and
 * the work would never be told its end. Middy returns what it is given for the response, so a promise there is awaited.
 */
export function watchEarlyAnswer(request: MiddyRequest<unknown>, answer: (early: unknown) => unknown): void {
  let response = request.response;
  Object.defineProperty(request, 'response', {
    configurable: true,
    enumerable: true,
    get: () => response,
    set: (given: unknown) => {
      const early = 'earlyResponse' in request && Object.is(given, request.earlyResponse);
      response = early ? answer(given) : given;
    },
  });
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
 * Whether an end may be middy's early time-out, while the handler is still running: by its own error, or, since a `timeoutEarlyResponse` may answer
 * or throw anything, by the time that is left. A timer may fire early by a fraction of each of two clocks' milliseconds, and late by any time.
 */
export function mayBeTimeout({ context, error }: MiddyRequest<unknown>, timeoutEarlyInMillis: number): boolean {
  if (isMiddyTimeout(error)) return true;
  const leftMs = context?.getRemainingTimeInMillis?.();
  return timeoutEarlyInMillis > 0 && leftMs !== undefined && leftMs <= timeoutEarlyInMillis + JITTER_MS;
}

/** Middy's own error, when its early time-out has left a handler running. */
export function isMiddyTimeout(error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { readonly name?: unknown; readonly cause?: { readonly package?: unknown } | null };
  return name === 'TimeoutError' && cause?.package === '@middy/core';
}
