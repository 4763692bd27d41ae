/**
 * HTTP in Lambda: API Gateway, function URLs and load balancers.
 *
 * @module
 */
import type {
  ALBResult,
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithRequestContext,
  APIGatewayProxyResult,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import type { UnknownAnswer } from '../../core/guard.ts';
import { checkOptions } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { guardAnswers } from '../../http/guard-answers.ts';
import { bindHttp, HTTP_RULES, type HttpOptions, type HttpReply } from '../../http/guard-http.ts';
import { handOut } from '../../http/hand-out.ts';
import { named } from '../named.ts';
import { timesOf, withDefaults } from './guard-lambda.ts';
import { replyFrom, resultFrom } from './http-reply.ts';
import { type HttpEvent, readRequest } from './http-request.ts';
import { DEADLINE_MARGIN_MS, inInvocation, LAMBDA_RULES, type LambdaGuardOptions } from './invocation.ts';

/** What the platform takes for this kind of event. */
export type HttpResult<E> = E extends { readonly requestContext: { readonly elb: unknown } }
  ? ALBResult
  : E extends APIGatewayProxyEventV2WithRequestContext<unknown>
    ? APIGatewayProxyStructuredResultV2
    : APIGatewayProxyResult;

/** What a handler may return: with payload 2.0 also a plain value, which becomes the JSON of a 200. */
export type HttpAnswer<E> = E extends APIGatewayProxyEventV2WithRequestContext<unknown> ? unknown : HttpResult<E>;

/** The options of the HTTP engine, with what Lambda knows by itself. Answers are never streams here. */
export interface LambdaHttpOptions<E>
  extends Omit<HttpOptions<E>, keyof LambdaGuardOptions<unknown> | 'remainingMs' | 'signal' | 'streams'>,
    LambdaGuardOptions<HttpAnswer<E>> {}

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
): (event: E, context: Context) => Promise<HttpResult<E>> {
  const { streams: _, ...rules } = HTTP_RULES;
  checkOptions('idempotentHttp', options, { ...LAMBDA_RULES, ...rules }, ['store', 'operation', 'scope']);
  const { deadlineMarginMs = DEADLINE_MARGIN_MS, onUnknown, ...rest } = options;
  const given = { ...rest, onUnknown: typeof onUnknown === 'function' ? asking(onUnknown) : onUnknown };
  const bound = bindHttp<E>('idempotentHttp', withDefaults(given, { renew: 'none' as const }) as HttpOptions<E>);
  return named(handler, (event: E, context: Context) =>
    inInvocation(event, context, deadlineMarginMs, async (invocation) => {
      const { shape, view } = readRequest(event);
      const guarded = await guardAnswers<E, HttpAnswer<E>, HttpReply>(bound, event, view, timesOf(options, invocation), {
        handle: (run) => handler(event, context, run),
        replyFrom: (answer) => replyFrom(shape, answer),
      });
      // A first answer keeps what a reply has no place for (statusDescription, its own spelling).
      return (guarded.kind === 'reply' ? resultFrom(shape, guarded.reply) : guarded.answer) as HttpResult<E>;
    }),
  );
}

/** `onUnknown` speaks of answers as the handler does. */
function asking<T>(onUnknown: (run: Run<T>) => UnknownAnswer<T> | Promise<UnknownAnswer<T>>): HttpOptions<unknown>['onUnknown'] {
  return async (run) => {
    const found = await onUnknown(handOut<T, HttpReply>(run, (answer) => replyFrom('v2', answer)));
    return typeof found === 'object' && found !== null && 'done' in found ? { done: replyFrom('v2', found.done) } : found;
  };
}
