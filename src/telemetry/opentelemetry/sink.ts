/**
 * Where spans and measurements go: the providers that were given, or the global ones, also where those are set later.
 *
 * @module
 */
import { context, type MeterProvider, metrics, type Span, type SpanOptions, type TracerProvider, trace } from '@opentelemetry/api';
import { type RecordMetric, recorder } from './metrics.ts';

/** The name of the instrumentation scope. */
export const SCOPE = 'rerunsafe';
/** Held against package.json by a test. */
export const VERSION = '0.1.0';

export class Sink {
  tracerProvider: TracerProvider | undefined;
  meterProvider: MeterProvider | undefined;
  #madeBy: MeterProvider | undefined;
  #record: RecordMetric = () => {};

  readonly record: RecordMetric = (name, value, attributes) => {
    const provider = this.meterProvider ?? metrics.getMeterProvider();
    // Unlike tracers, the instruments of a provider that is not set yet never come to life.
    if (provider !== this.#madeBy) {
      this.#record = recorder(provider.getMeter(SCOPE, VERSION));
      this.#madeBy = provider;
    }
    this.#record(name, value, attributes);
  };

  startSpan(name: string, options: SpanOptions): Span {
    const tracer = (this.tracerProvider ?? trace).getTracer(SCOPE, VERSION);
    return tracer.startSpan(name, options, context.active());
  }
}

export const secondsSince = (startedAtMs: number): number => (performance.now() - startedAtMs) / 1_000;
