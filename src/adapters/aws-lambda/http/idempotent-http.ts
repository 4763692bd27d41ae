/**
 * HTTP in Lambda: API Gateway, function URLs and load balancers.
 *
 * @module
 */
import type { Writable } from 'node:stream';
import type {
  ALBResult,
  APIGatewayProxyEventBase,
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithRequestContext,
  APIGatewayProxyResult,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import { checkOptions } from '../../../core/options.ts';
import type { Run } from '../../../core/run.ts';
import { guardAnswers } from '../../../http/guard-answers.ts';
import { HTTP_RULES, type HttpReply } from '../../../http/guard-http.ts';
import { named } from '../../named.ts';
import { LAMBDA_RULES } from '../invocation.ts';
import { type EngineOptions, engineFrom, type HttpHandler, type Streams } from './engine.ts';
import { replyFrom, resultFrom } from './reply.ts';
import { type HttpEvent, readRequest } from './request.ts';
import { streaming } from './stream.ts';
import type { StreamedAnswer } from './stream-reply.ts';

/** What the platform takes for this kind of event. */
export type HttpResult<E> = E extends { readonly requestContext: { readonly elb: unknown } }
  ? ALBResult
  : E extends APIGatewayProxyEventV2WithRequestContext<unknown>
    ? APIGatewayProxyStructuredResultV2
    : APIGatewayProxyResult;

/** What a handler may return: with payload 2.0 also a plain value, which becomes the JSON of a 200. */
export type HttpAnswer<E> = E extends APIGatewayProxyEventV2WithRequestContext<unknown> ? unknown : HttpResult<E>;

/** The options of the HTTP engine, with what Lambda knows by itself. Without `streams` an answer is no stream. */
export interface LambdaHttpOptions<E> extends EngineOptions<E, HttpAnswer<E>> {
  readonly streams?: undefined;
}

/** The options of a streaming handler. */
export interface LambdaStreamOptions<E> extends EngineOptions<E, StreamedAnswer> {
  /**
   * Makes the handler a streaming one. `pass`: a stream goes out as it comes, and its record completes without it as soon as the handler has
   * returned (later callers get 409, `RESULT_NOT_STORED`). `{ recordUpTo }`: it is read first, up to so many bytes, and recorded like any other
   * answer; what is longer, and server-sent events, pass. An answer that is no stream is recorded either way.
   */
  readonly streams: Streams;
}

/** What can stream: function URLs (and other events of payload 2.0) and API Gateway REST. */
export type StreamingEvent = APIGatewayProxyEventBase<unknown> | APIGatewayProxyEventV2WithRequestContext<unknown>;

/** What Lambda calls where answers are streamed. In a unit test any `Writable` is a response stream. */
export type StreamingHttpHandler<E> = (event: E, responseStream: Writable, context: Context) => Promise<void>;

/**
 * A streaming handler: the user's handler *returns* `{ statusCode, headers, cookies, body }`, and the body may be a stream. Replays and refusals go
 * out through the same stream, with the same kind of prelude. For function URLs with `RESPONSE_STREAM`, and API Gateway REST with response
 * streaming; it is exported as it is, without `awslambda.streamifyResponse`.
 *
 * The work is done when the handler returns. A stream that fails later, or goes on until `deadlineMarginMs` before the time limit, breaks the answer
 * of this one caller, with the error that it failed of; the record stays complete, without a value, and nothing runs again.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: for an event of a load balancer, which takes no streams, and as the other form.
 * @example
 * export const handler = idempotentHttp({ store, operation: 'reports/make', scope, streams: { recordUpTo: 200_000 } }, async (event, context, run) => ({
 *   statusCode: 200,
 *   headers: { 'content-type': 'text/csv' },
 *   body: Readable.from(rowsOf(event)),
 * }));
 */
export function idempotentHttp<E extends StreamingEvent = APIGatewayProxyEventV2>(
  options: LambdaStreamOptions<E>,
  handler: (event: E, context: Context, run: Run<StreamedAnswer>) => StreamedAnswer | Promise<StreamedAnswer>,
): StreamingHttpHandler<E>;
/**
 * Guards a handler of HTTP requests by the `Idempotency-Key` header. A first answer goes out as the handler returned it; a replay has the same
 * status, body bytes and allow-listed headers, in the shape of the event, and says `Idempotent-Replayed: true`. What is refused is a problem
 * (RFC 9457) in the same shape.
 *
 * Works for API Gateway REST (payload 1.0), HTTP API (2.0), function URLs and load balancers; the event says which. Without an annotation the event
 * is that of payload 2.0. A request that passes through (GET, or `required: false` and no key) has an unguarded run: no token, no fence, keys of its own.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: for an event that is no HTTP request, and whatever the handler throws, untouched.
 * @example
 * export const handler = idempotentHttp(
 *   { store, operation: 'payments/charge', scope: (event: APIGatewayProxyEventV2WithIAMAuthorizer) => event.requestContext.authorizer.iam.userArn },
 *   async (event, context, run) => ({ statusCode: 201, body: JSON.stringify(await charge(event.body, run.keyFor('charge'))) }),
 * );
 */
export function idempotentHttp<E extends HttpEvent = APIGatewayProxyEventV2>(
  options: LambdaHttpOptions<E>,
  handler: (event: E, context: Context, run: Run<HttpAnswer<E>>) => HttpAnswer<E> | Promise<HttpAnswer<E>>,
): (event: E, context: Context) => Promise<HttpResult<E>>;
export function idempotentHttp<E extends HttpEvent>(options: LambdaHttpOptions<E> | LambdaStreamOptions<E>, handler: unknown): unknown {
  checkOptions('idempotentHttp', options, { ...LAMBDA_RULES, ...HTTP_RULES }, ['store', 'operation', 'scope']);
  const given = options as LambdaHttpOptions<HttpEvent> | LambdaStreamOptions<HttpEvent>;
  return given.streams === undefined ? buffered(given, handler as HttpHandler<unknown>) : streaming(given, handler as HttpHandler<StreamedAnswer>);
}

function buffered(options: LambdaHttpOptions<HttpEvent>, handler: HttpHandler<unknown>): unknown {
  const { bound, invoke } = engineFrom<unknown>(options, (answer) => replyFrom('v2', answer));
  return named(handler, (event: HttpEvent, context: Context) =>
    invoke(event, context, async (call) => {
      const { shape, view } = readRequest(event);
      const guarded = await guardAnswers<HttpEvent, unknown, HttpReply>(bound, event, view, call, {
        handle: (run) => handler(event, context, run),
        replyFrom: (answer) => replyFrom(shape, answer),
      });
      // A first answer keeps what a reply has no place for (statusDescription, its own spelling).
      return guarded.kind === 'reply' ? resultFrom(shape, guarded.reply) : guarded.answer;
    }),
  );
}
