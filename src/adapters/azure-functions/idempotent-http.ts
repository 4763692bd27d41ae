/**
 * HTTP functions: the same `Idempotency-Key` gives the same reply.
 *
 * @module
 */
import type { HttpRequest, HttpResponse, HttpResponseInit, InvocationContext } from '@azure/functions';
import type { UnknownAnswer } from '../../core/guard.ts';
import type { Run } from '../../core/run.ts';
import { guardAnswers } from '../../http/guard-answers.ts';
import { bindHttp, type HttpOptions, type HttpReply } from '../../http/guard-http.ts';
import { handOut } from '../../http/hand-out.ts';
import { named } from '../named.ts';
import { type AzureReply, type AzureResult, initFrom, replyFrom } from './reply.ts';
import { copyOf, viewOf } from './request.ts';
import { noteUndecided, tellOfStream } from './stream-default.ts';
import { holderOf } from './trigger.ts';

/** See {@link HttpOptions}. `scope` is required: a function of the request, or `'public'`. */
export type IdempotentHttpOptions = HttpOptions<HttpRequest, HttpResponseInit>;

/** The guarded handler. Where nothing is guarded (other methods, requests without a key when `required` is false) `run` has no token and no fence. */
export type IdempotentHttpHandler = (
  request: HttpRequest,
  context: InvocationContext,
  run: Run<HttpResponseInit | HttpResponse>,
) => HttpResponseInit | HttpResponse | Promise<HttpResponseInit | HttpResponse>;

/** What to register: assignable to `HttpHandler`. */
export type GuardedHttpHandler = (request: HttpRequest, context: InvocationContext) => Promise<HttpResponseInit | HttpResponse>;

/**
 * Wraps an HTTP handler. The reply is kept (status, body bytes, allow-listed headers) together with what was set on `context.extraOutputs`, and
 * replayed with `Idempotent-Replayed: true`. Cookies go out with the first answer only. Refusals are problem documents; what the handler throws is
 * thrown, and the host makes its 500.
 *
 * A streamed body (`Readable`, `ReadableStream`, `AsyncIterable`) goes out unchanged and is not kept: later callers of its key get 409
 * (`RESULT_NOT_STORED`); or it is kept up to a size, see `streams`. Server-sent events always go out unchanged. An `HttpResponse` object is read to
 * its end first. An answer that was passed through {@link reject} leaves no record.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when it is built, with everything that is wrong.
 * @example
 * app.http('charge', {
 *   methods: ['POST'],
 *   handler: idempotentHttp({ store, operation: 'payments/charge', scope: (request) => tenantOf(request) }, async (request, context, run) => ({
 *     status: 201,
 *     jsonBody: await charge(await request.json(), run.keyFor('charge')),
 *   })),
 * });
 */
export function idempotentHttp(options: IdempotentHttpOptions, handler: IdempotentHttpHandler): GuardedHttpHandler {
  const { onUnknown: _, ...rest } = options ?? {};
  const bound = bindHttp<HttpRequest>('idempotentHttp', { ...rest, ...reading(options), ...asking(options) } as HttpOptions<HttpRequest>);
  if (bound.streams === undefined) noteUndecided(bound.guard.operation);
  return named(handler, async (request: HttpRequest, context: InvocationContext) => {
    const view = viewOf(request, bound.maxBodyBytes);
    const guarded = await guardAnswers<HttpRequest, AzureResult, AzureReply>(
      bound,
      request,
      view,
      { holder: holderOf(context), onProblem: (error) => context.error(`${bound.guard.operation}: answered with a problem:`, error) },
      {
        handle: (run) => handler(request, context, run),
        replyFrom: async (result) => {
          const reply = await replyFrom(result, context, bound.streams);
          if (reply.streamed && bound.streams === undefined) tellOfStream(bound.guard.operation);
          return reply;
        },
      },
    );
    return guarded.kind === 'passed' ? guarded.answer : initFrom(guarded.reply, context);
  });
}

/** What a user's function reads of the body, the handler must still find there. */
function reading(options: IdempotentHttpOptions | undefined): Partial<HttpOptions<HttpRequest>> {
  const { key, scope, fingerprint, authorizeReplay } = options ?? {};
  return {
    ...(typeof key === 'function' && { key: (request: HttpRequest) => key(copyOf(request)) }),
    ...(typeof scope === 'function' && { scope: (request: HttpRequest) => scope(copyOf(request)) }),
    ...(typeof fingerprint === 'function' && { fingerprint: (request: HttpRequest) => fingerprint(copyOf(request)) }),
    ...(typeof authorizeReplay === 'function' && {
      authorizeReplay: (request: HttpRequest, reply: { readonly status: number }) => authorizeReplay(copyOf(request), reply),
    }),
  };
}

/** `onUnknown` speaks of replies as the handler does. */
function asking(options: IdempotentHttpOptions | undefined): Pick<HttpOptions<HttpRequest>, 'onUnknown'> {
  const onUnknown = options?.onUnknown;
  if (typeof onUnknown !== 'function') return onUnknown === undefined ? {} : { onUnknown };
  return {
    onUnknown: async (run): Promise<UnknownAnswer<HttpReply>> => {
      const answer = await onUnknown(handOut<HttpResponseInit, HttpReply>(run, (value) => replyFrom(value, WITHOUT_OUTPUTS)));
      return typeof answer === 'object' && answer !== null && 'done' in answer ? { done: await replyFrom(answer.done, WITHOUT_OUTPUTS) } : answer;
    },
  };
}

/** What was found out about an earlier attempt has no outputs of this one. */
const WITHOUT_OUTPUTS = { options: { extraOutputs: [] } } as unknown as InvocationContext;
