/**
 * The HTTP engine within Lambda: its options bound once, and one guarded call within an invocation.
 *
 * @module
 */
import type { Context } from 'aws-lambda';
import type { UnknownAnswer } from '../../../core/guard.ts';
import type { Run } from '../../../core/run.ts';
import { type BoundHttp, bindHttp, type HttpCall, type HttpOptions, type HttpReply } from '../../../http/guard-http.ts';
import { handOut } from '../../../http/hand-out.ts';
import { timesOf, withDefaults } from '../guard-lambda.ts';
import { DEADLINE_MARGIN_MS, inInvocation, type LambdaGuardOptions } from '../invocation.ts';
import type { HttpEvent } from './request.ts';

/** The options of the HTTP engine, with what Lambda knows by itself. `A`: what a handler answers. */
export interface EngineOptions<E, A>
  extends Omit<HttpOptions<E>, keyof LambdaGuardOptions<unknown> | 'remainingMs' | 'signal' | 'streams'>,
    LambdaGuardOptions<A> {}

export type Streams = NonNullable<HttpOptions<unknown>['streams']>;

export type HttpHandler<A> = (event: HttpEvent, context: Context, run: Run<A>) => A | Promise<A>;

type ReplyFrom<A> = (answer: A) => HttpReply | Promise<HttpReply>;

export interface Engine {
  readonly bound: BoundHttp<HttpEvent>;
  invoke<R>(event: HttpEvent, context: Context, work: (call: HttpCall & { readonly signal: AbortSignal }) => Promise<R>): Promise<R>;
}

/**
 * @param replyFrom What `onUnknown` answers; of an event that nobody has any more.
 * @throws RerunSafeError `INVALID_OPTIONS`
 */
export function engineFrom<A>(options: EngineOptions<HttpEvent, A> & { readonly streams?: Streams | undefined }, replyFrom: ReplyFrom<A>): Engine {
  const { deadlineMarginMs = DEADLINE_MARGIN_MS, onUnknown, ...rest } = options;
  const given = { ...rest, onUnknown: typeof onUnknown === 'function' ? asking(onUnknown, replyFrom) : onUnknown };
  const bound = bindHttp<HttpEvent>('idempotentHttp', withDefaults(given) as HttpOptions<HttpEvent>);
  const onProblem = (error: unknown): void => console.error(`${options.operation}: answered with a problem:`, error);
  return {
    bound,
    invoke: (event, context, work) =>
      inInvocation(event, context, deadlineMarginMs, (invocation) => work({ ...timesOf(options, invocation), signal: invocation.signal, onProblem })),
  };
}

/** `onUnknown` speaks of answers as the handler does. */
function asking<A>(
  onUnknown: (run: Run<A>) => UnknownAnswer<A> | Promise<UnknownAnswer<A>>,
  replyFrom: ReplyFrom<A>,
): HttpOptions<unknown>['onUnknown'] {
  return async (run) => {
    const found = await onUnknown(handOut<A, HttpReply>(run, replyFrom));
    return typeof found === 'object' && found !== null && 'done' in found ? { done: await replyFrom(found.done) } : found;
  };
}
