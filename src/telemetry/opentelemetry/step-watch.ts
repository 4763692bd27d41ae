/**
 * The work of a step as it is seen from outside.
 *
 * @module
 */
import { type Context, context, type Span, trace } from '@opentelemetry/api';
import type { ObservedCall } from '../../core/observed.ts';
import { type End, failSpan } from './ended-span.ts';
import { ATTRIBUTES } from './metrics.ts';
import { type Sink, secondsSince } from './sink.ts';

export class StepWatch {
  readonly span: Span;
  readonly #call: Extract<ObservedCall, { kind: 'step' }>;
  readonly #sink: Sink;
  readonly #startedAtMs = performance.now();

  constructor(call: Extract<ObservedCall, { kind: 'step' }>, sink: Sink) {
    this.#call = call;
    this.#sink = sink;
    const { step, id } = call;
    this.span = sink.startSpan(`step ${step}`, { attributes: { ...this.#where, 'rerunsafe.id': id, 'rerunsafe.step.name': step } });
  }

  get context(): Context {
    return trace.setSpan(context.active(), this.span);
  }

  end(end: End): void {
    const outcome = { [ATTRIBUTES.outcome]: 'error' in end ? 'failed' : 'done' };
    this.#sink.record('rerunsafe.step.duration', secondsSince(this.#startedAtMs), { ...this.#where, ...outcome });
    try {
      this.span.setAttributes(outcome);
      if ('error' in end) failSpan(this.span, end.error);
    } finally {
      this.span.end();
    }
  }

  get #where(): { [name: string]: string } {
    return { [ATTRIBUTES.operation]: this.#call.operation, [ATTRIBUTES.store]: this.#call.store };
  }
}
