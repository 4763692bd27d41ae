/**
 * The wrappers of this adapter as a middleware of middy.
 *
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'aws-lambda';
import type { Lease } from '../../../core/lease.ts';
import { checkOptions, invalidOptions, isInteger } from '../../../core/options.ts';
import type { Run } from '../../../core/run.ts';
import { Passage } from './passage.ts';
import { cleanUpPowertools, type MiddyRequest, mayBeTimeout, watchEnds } from './request.ts';

export interface MiddyOptions {
  /**
   * The same as given to middy, ms; 0 where it is switched off there. Default 5, as in middy. An end that comes with no more than this left may be
   * middy's early time-out and not the work's end.
   */
  readonly timeoutEarlyInMillis?: number;
}

/** Stands for what comes later in the chain. Fits in place of the handler of every wrapper. */
export type MiddyWork = <T>(event: unknown, context: Context, handed: unknown) => Promise<T>;

export interface MiddyMiddleware<E> {
  readonly before: (request: MiddyRequest<E>) => Promise<void>;
  readonly after: (request: MiddyRequest<E>) => Promise<void>;
  readonly onError: (request: MiddyRequest<E>) => Promise<void>;
  /**
   * The run that this invocation's work is part of: `currentRun()` does not reach a handler of middy's.
   *
   * @throws RerunSafeError `INVALID_OPTIONS` for a context that did not come through this middleware, or that two invocations at once came with.
   */
  runOf(context: Context): Run;
  /** The same for `singleton`. */
  leaseOf(context: Context): Lease;
}

/**
 * A middleware that guards what comes after it in the chain, by any of the wrappers for one event: `idempotent`, `idempotentHttp`, `singleton`. What
 * was used before it stands outside: its `after` and `onError` see what the wrapper answers or throws. What is used after it is part of the guarded
 * work, an answer or a throw of another middleware too; as a rule use it last.
 *
 * An `onError` that throws belongs before this middleware. After it, its throw ends the work as well, but middy throws on at once and waits for nothing:
 * the record is written after the caller has the error (where Lambda freezes the sandbox first, it lapses by its lease), and what the wrapper makes of
 * the error (an answer that was committed, a save that fails) reaches nobody.
 *
 * A replay or a refusal is an early response: middy then skips the `after` of *every* middleware. Where those shape the answer (CORS, serializers),
 * put the wrapper around the handler instead, `middy().use(cors()).handler(idempotentHttp(options, handler))`: replays then go through them.
 *
 * When middy's early time-out ends an invocation, the handler is still at work: its record is neither completed nor released, and lapses by its
 * lease; so it does around a handler that middy has made (`idempotent(options, middy(...))`), but for a `timeoutEarlyResponse` of your own and for
 * `singleton`: give middy `timeoutEarlyInMillis: 0` there. `idempotentEach` takes each record by itself, so it cannot be a middleware; put it around the handler.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: what the wrapper throws.
 * @example
 * const guard = middyMiddleware((handler) => idempotentHttp({ store, operation: 'payments/charge', scope: 'public' }, handler));
 * export const handler = middy()
 *   .use(injectLambdaContext(logger))
 *   .use(guard)
 *   .handler(async (event, context) => charge(event.body, guard.runOf(context).keyFor('charge')));
 */
export function middyMiddleware<W extends (event: never, context: Context) => Promise<unknown>>(
  // Not (event: E, ...) => ...: an E looked for in there would keep the wrapper from finding its own.
  wrap: (handler: MiddyWork) => W,
  options: MiddyOptions = {},
): MiddyMiddleware<Parameters<W>[0]> {
  checkOptions('middyMiddleware', options, { timeoutEarlyInMillis: isInteger(0, 900_000) });
  const { timeoutEarlyInMillis = 5 } = options;
  // Leads from the wrapper's handler back to its request; built once, so that options are checked at the start and not in the first request.
  const current = new AsyncLocalStorage<Passage>();
  const passages = new WeakMap<object, Passage>();
  const byContext = new WeakMap<Context, Passage | 'shared'>();

  const work = (event: unknown, context: Context, handed: unknown): Promise<unknown> => {
    const passage = current.getStore();
    if (passage === undefined) throw invalidOptions('middyMiddleware', ['the wrapper must call its handler within the call of its own']);
    const other = byContext.get(context);
    byContext.set(context, other === undefined || (other !== 'shared' && other.over) ? passage : 'shared');
    return passage.begin(event, handed);
  };
  const guarded = wrap(work as MiddyWork);
  if (typeof guarded !== 'function') throw invalidOptions('middyMiddleware', ['the first argument must return a wrapped handler']);

  const take = (request: object): Passage | undefined => {
    const passage = passages.get(request);
    passages.delete(request);
    return passage;
  };
  /** Tells the passage its end, once. undefined: nothing was to be told, or it may be middy's early time-out. */
  const end = (request: MiddyRequest<unknown>, tell: (passage: Passage) => Promise<unknown>): Promise<unknown> | undefined => {
    const passage = take(request);
    if (passage === undefined || !mayBeTimeout(request, timeoutEarlyInMillis)) return passage && tell(passage);
    passage.abandon();
    return undefined;
  };

  const handedTo = (context: Context, method: 'keyFor' | 'release'): unknown => {
    const passage = byContext.get(context);
    const handed = passage === 'shared' ? undefined : (passage?.handed as Record<string, unknown> | undefined);
    if (typeof handed?.[method] === 'function') return handed;
    throw invalidOptions('middyMiddleware', [
      passage === 'shared' ? 'two invocations at once have the same context' : 'nothing of that kind was handed to this context',
    ]);
  };

  return {
    before: async (request) => {
      const passage = new Passage(request.event);
      const answered = await passage.start(() => current.run(passage, async () => guarded(request.event as never, request.context)));
      if (answered === undefined) {
        passages.set(request, passage);
        watchEnds(request, {
          answered: (early) => end(request, (standing) => standing.returned(early)) ?? early,
          threw: (error) => void end(request, (standing) => standing.threw(error)),
          timedOut: () => take(request)?.abandon(),
        });
      } else {
        await cleanUpPowertools(request);
        request.earlyResponse = answered.answer;
      }
    },
    after: async (request) => {
      const answer = end(request, (passage) => passage.returned(request.response));
      if (answer !== undefined) request.response = await answer;
    },
    onError: async (request) => {
      // A response is there where a middleware after this one has made an answer of the error: then that is the work's end.
      const outcome = end(request, (passage) => (request.response === undefined ? passage.threw(request.error) : passage.returned(request.response)));
      // Without one, it is an error from before the work or after its outcome: nothing may be undone.
      if (outcome === undefined) return;
      try {
        const answer = await outcome;
        // Middy takes undefined for "nobody has handled the error"; it awaits what it returns.
        request.response = answer === undefined ? Promise.resolve() : answer;
      } catch (error) {
        request.response = undefined;
        request.error = error;
      }
    },
    runOf: (context) => handedTo(context, 'keyFor') as Run,
    leaseOf: (context) => handedTo(context, 'release') as Lease,
  };
}
