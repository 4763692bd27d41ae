/**
 * OpenTelemetry with exporters in memory, and how to read them.
 *
 * @module
 */
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { RerunSafeInstrumentation } from '../../src/telemetry/opentelemetry/index.ts';

export interface Otel {
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
  /** Ended spans, in that order. */
  spans(): ReadableSpan[];
  metrics(): Promise<MetricData[]>;
  /** The points of a metric: attributes, and the value (of a histogram: how many). */
  points(name: string): Promise<{ readonly attributes: object; readonly value: number }[]>;
  stop(): Promise<void>;
}

export function otel(instrumentation?: RerunSafeInstrumentation): Otel {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const spanExporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Read when asked, never by itself.
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2_000_000_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  instrumentation?.setTracerProvider(tracerProvider);
  instrumentation?.setMeterProvider(meterProvider);
  const metrics = async (): Promise<MetricData[]> => {
    metricExporter.reset();
    await meterProvider.forceFlush();
    return metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  };
  return {
    tracerProvider,
    meterProvider,
    spans: () => spanExporter.getFinishedSpans(),
    metrics,
    async points(name) {
      const data = (await metrics()).find(({ descriptor }) => descriptor.name === name);
      const points = (data?.dataPoints ?? []) as DataPoint<number | Histogram>[];
      return points.map(({ attributes, value }) => ({ attributes, value: typeof value === 'number' ? value : value.count }));
    },
    async stop() {
      instrumentation?.disable();
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
      context.disable();
    },
  };
}
