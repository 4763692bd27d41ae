/**
 * `rerunsafe/azure-functions`: handlers of Azure Functions (programming model v4) that are safe to run again.
 *
 * Loads no SDK; `@azure/functions` is needed for its types only.
 *
 * @module
 */
export { HttpNotKept, type HttpOptions, type HttpReply } from '../../http/guard-http.ts';
export { reject } from '../../http/reject.ts';
export { type ItemFailure, ItemsFailedError } from '../items-failed.ts';
export type { SingletonOptions, Slot } from '../singleton.ts';
export type { HeadersLike } from '../webhook-keys.ts';
export * as keys from './all-keys.ts';
export { checkHost, type HostProblem } from './check-host.ts';
export { type IdempotentOptions, idempotent } from './idempotent.ts';
export { type IdempotentEachOptions, idempotentEach } from './idempotent-each.ts';
export { type GuardedHttpHandler, type IdempotentHttpHandler, type IdempotentHttpOptions, idempotentHttp } from './idempotent-http.ts';
export type { ItemOptions } from './item.ts';
export type { TriggerKey } from './keys.ts';
export { singleton } from './singleton.ts';
export { type StartCheckOptions, startCheck } from './start-check.ts';
