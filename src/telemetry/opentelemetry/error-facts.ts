/**
 * What an error is called: on metrics one of few words, on spans what it calls itself.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import { ATTRIBUTES, OTHER } from './metrics.ts';

/** For metrics: a code of ours, or `_OTHER`; a user's own errors may be named in any number of ways. */
export const errorType = (error: unknown): { readonly [ATTRIBUTES.errorType]?: string } =>
  error === undefined ? {} : { [ATTRIBUTES.errorType]: isRerunSafeError(error) ? error.code : OTHER };

/** For spans. */
export function errorName(error: unknown): string {
  if (isRerunSafeError(error)) return error.code;
  const { name } = (typeof error === 'object' && error !== null ? error : {}) as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : OTHER;
}

/** As a span takes it; what is thrown need not be an error. */
export const exceptionOf = (error: unknown): Error | string => (error instanceof Error ? error : String(error));

/** Given up for the caller's sake, before anything was begun or said. */
export const isAbort = (error: unknown): boolean => ['AbortError', 'TimeoutError'].includes(errorName(error));
