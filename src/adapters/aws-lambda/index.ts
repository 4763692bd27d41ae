/**
 * `rerunsafe/aws-lambda`: handlers for AWS Lambda that are safe to run again. Loads no SDK.
 *
 * @module
 */
export type { Lease, NotAcquired } from '../../core/lease.ts';
export { HttpNotKept, type HttpReply } from '../../http/guard-http.ts';
export { reject } from '../../http/reject.ts';
export { type ItemFailure, ItemsFailedError } from '../items-failed.ts';
export type { SingletonOptions, Slot } from '../singleton.ts';
export type { HeadersLike } from '../webhook-keys.ts';
export type {
  ActiveMqEvent,
  ActiveMqMessage,
  BatchAnswer,
  BatchEvent,
  BatchRecord,
  KafkaBatchResponse,
  KafkaRecord,
  RabbitMqEvent,
  RabbitMqMessage,
} from './batches/events.ts';
export { type EachOptions, idempotentEach } from './batches/idempotent-each.ts';
export type { KeyedOptions } from './guard-lambda.ts';
export {
  type HttpAnswer,
  type HttpResult,
  idempotentHttp,
  type LambdaHttpOptions,
  type LambdaStreamOptions,
  type StreamingEvent,
  type StreamingHttpHandler,
} from './http/idempotent-http.ts';
export type { HttpEvent } from './http/request.ts';
export type { StreamedAnswer } from './http/stream-reply.ts';
export { type EventOptions, idempotent } from './idempotent.ts';
export type { DeadlineOptions, LambdaGuardOptions } from './invocation.ts';
export * as keys from './keys.ts';
export { type MiddyMiddleware, type MiddyOptions, type MiddyWork, middyMiddleware } from './middy/middleware.ts';
export type { MiddyRequest } from './middy/request.ts';
export { type ScheduledOptions, singleton } from './singleton.ts';
