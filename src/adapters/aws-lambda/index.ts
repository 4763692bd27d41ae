/**
 * `rerunsafe/aws-lambda`: handlers for AWS Lambda that are safe to run again. Loads no SDK.
 *
 * @module
 */
export type { Lease, NotAcquired } from '../../core/lease.ts';
export { HttpNotKept, type HttpReply } from '../../http/guard-http.ts';
export { reject } from '../../http/reject.ts';
export type { SingletonOptions, Slot } from '../singleton.ts';
export { type EventOptions, idempotent } from './event.ts';
export type { KeyedOptions } from './guard-lambda.ts';
export { type HttpAnswer, type HttpResult, idempotentHttp, type LambdaHttpOptions } from './http.ts';
export type { HttpEvent } from './http-request.ts';
export type { DeadlineOptions, LambdaGuardOptions } from './invocation.ts';
export { type ScheduledOptions, singleton } from './scheduled.ts';
export { type EachOptions, idempotentEach } from './sqs.ts';
