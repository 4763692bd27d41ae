/**
 * `rerunsafe/client`: a `fetch` with an idempotency key per intent.
 *
 * @module
 */
export { type IdempotentFetch, idempotentFetch, type SentResponse } from './idempotent-fetch.ts';
export { type Intent, type IntentJson, intentFrom, type NewIntentOptions, newIntent } from './intent.ts';
export { intentFor } from './intent-for.ts';
export type { IdempotentFetchOptions } from './options.ts';
export type { RequestInput } from './payload.ts';
