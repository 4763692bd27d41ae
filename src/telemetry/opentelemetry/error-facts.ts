/**
 * What an error is called: on metrics one of few words, on spans what it calls itself.
 *
 * @module
 */
import { type ErrorCode, isRerunSafeError } from '../../core/errors.ts';
import { read, textOf } from '../read.ts';
import { ATTRIBUTES, OTHER } from './metrics.ts';

/** For metrics: a code of ours, or `_OTHER`; a user's own errors may be named in any number of ways. */
export const errorType = (error: unknown): { readonly [ATTRIBUTES.errorType]?: string } =>
  error === undefined ? {} : { [ATTRIBUTES.errorType]: ourCode(error) ?? OTHER };

/** undefined: an error of somebody else's. */
export const ourCode = (error: unknown): ErrorCode | undefined => read(() => (isRerunSafeError(error) ? error.code : undefined), undefined);

/** For spans. */
export function errorName(error: unknown): string {
  const code = ourCode(error);
  if (code !== undefined) return code;
  const name = typeof error === 'object' ? read(() => (error as { name?: unknown } | null)?.name, undefined) : undefined;
  return typeof name === 'string' && name !== '' ? name : OTHER;
}

/** As a span takes it; what is thrown need not be an error. */
export const exceptionOf = (error: unknown): Error | string =>
  read<Error | string>(() => (error instanceof Error && error.message !== undefined ? error : textOf(error)), textOf(error));

/** Given up for the caller's sake, before anything was begun or said. */
export const isAbort = (error: unknown): boolean => ['AbortError', 'TimeoutError'].includes(errorName(error));
