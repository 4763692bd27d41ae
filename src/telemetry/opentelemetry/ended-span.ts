/**
 * How a span ends.
 *
 * @module
 */
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { errorName, exceptionOf } from './error-facts.ts';
import { ATTRIBUTES } from './metrics.ts';

/** How a call came out: what it resolved with, or what it threw. */
export type End = { readonly value: unknown } | { readonly error: unknown };

export function failSpan(span: Span, error: unknown): void {
  span.recordException(exceptionOf(error));
  markFailed(span, errorName(error));
}

export function markFailed(span: Span, type: string): void {
  span.setAttribute(ATTRIBUTES.errorType, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
