/**
 * A lease, from before it is asked for until it is released, as it is seen from outside. What is measured comes from the events alone, since a lease
 * can be taken without a call around it (`tryAcquire`).
 *
 * @module
 */
import { type Attributes, type Context, context, type Span, trace } from '@opentelemetry/api';
import type { LeaseEvent } from '../../core/events.ts';
import type { ObservedCall } from '../../core/observed.ts';
import { definedOf } from './defined.ts';
import { type End, failSpan } from './ended-span.ts';
import { errorName } from './error-facts.ts';
import { ATTRIBUTES } from './metrics.ts';
import type { Sink } from './sink.ts';

export class LeaseWatch {
  readonly span: Span;
  token: number | undefined;
  readonly #call: Extract<ObservedCall, { kind: 'lease' }>;

  constructor(call: Extract<ObservedCall, { kind: 'lease' }>, sink: Sink) {
    this.#call = call;
    const { name, provider } = call;
    // A span is named by what few others are named by; who has a lease for each tenant has many names.
    this.span = sink.startSpan('lease', { attributes: { [ATTRIBUTES.leaseName]: name, [ATTRIBUTES.provider]: provider } });
  }

  get context(): Context {
    return trace.setSpan(context.active(), this.span);
  }

  isAbout({ name, provider }: LeaseEvent): boolean {
    return this.#call.name === name && this.#call.provider === provider;
  }

  hear(event: LeaseEvent): void {
    this.token = event.token ?? this.token;
    this.span.addEvent(`rerunsafe.lease.${event.event}`, factsOf(event));
    this.span.setAttributes(definedOf({ 'rerunsafe.token': event.token }));
  }

  end(end: End): void {
    try {
      this.span.setAttribute(ATTRIBUTES.outcome, 'error' in end ? 'failed' : outcomeOf(end.value));
      if ('error' in end) failSpan(this.span, end.error);
    } finally {
      this.span.end();
    }
  }
}

/** `done`; `lost` or `unknown` where it is done, and was not held until the end; or why it was skipped. */
function outcomeOf(result: unknown): string {
  const { kind, released } = (result ?? {}) as { kind?: string; released?: string };
  return kind === 'done' && released !== undefined && released !== 'released' ? released : (kind ?? 'done');
}

const factsOf = ({ reason, slot, lastSuccessAgeMs, error }: LeaseEvent): Attributes =>
  definedOf({
    [ATTRIBUTES.reason]: reason,
    'rerunsafe.lease.slot': slot === undefined ? undefined : new Date(slot).toISOString(),
    'rerunsafe.lease.last_success.age': lastSuccessAgeMs === undefined ? undefined : lastSuccessAgeMs / 1_000,
    [ATTRIBUTES.errorType]: error === undefined ? undefined : errorName(error),
  });
