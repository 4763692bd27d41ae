/**
 * The metrics: their names, units and attributes are a promise, for dashboards and alerts are built on them. No key, scope or owner is ever an
 * attribute of a metric.
 *
 * @module
 */
import type { Attributes, Meter, MetricOptions } from '@opentelemetry/api';

/** Of spans and metrics. */
export const ATTRIBUTES = {
  operation: 'rerunsafe.operation',
  store: 'rerunsafe.store',
  event: 'rerunsafe.event',
  outcome: 'rerunsafe.outcome',
  reason: 'rerunsafe.reason',
  leaseName: 'rerunsafe.lease.name',
  provider: 'rerunsafe.lease.provider',
  /** A code of ours, or `_OTHER`. */
  errorType: 'error.type',
} as const;

/** What every attribute takes for a value that is none of the known ones. */
export const OTHER = '_OTHER';

export type MetricKind = 'counter' | 'up-down counter' | 'histogram' | 'gauge';

interface Metric {
  readonly kind: MetricKind;
  /** UCUM. */
  readonly unit: string;
  readonly description: string;
}

const { operation, store, event, outcome, reason, leaseName, provider, errorType } = ATTRIBUTES;

export const METRICS = {
  'rerunsafe.run.events': {
    kind: 'counter',
    unit: '{event}',
    description: 'Events of guarded runs',
    attributes: [operation, store, event, errorType],
  },
  'rerunsafe.run.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Guarded calls, from before the claim until the caller has its answer; waiting for another is in it',
    attributes: [operation, store, outcome],
  },
  'rerunsafe.attempt.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Attempts, from the claim until the outcome is kept or given up',
    attributes: [operation, store, outcome],
  },
  'rerunsafe.attempt.active': {
    kind: 'up-down counter',
    unit: '{attempt}',
    description: 'Attempts under way in this process',
    attributes: [operation, store],
  },
  'rerunsafe.step.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Steps whose work was done; not those whose value was kept already',
    attributes: [operation, store, outcome],
  },
  'rerunsafe.lease.events': {
    kind: 'counter',
    unit: '{event}',
    description: 'Events of named leases',
    attributes: [provider, leaseName, event, reason, errorType],
  },
  'rerunsafe.lease.held.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Named leases, from the acquisition until they are released or lost',
    attributes: [provider, leaseName],
  },
  'rerunsafe.lease.active': {
    kind: 'up-down counter',
    unit: '{lease}',
    description: 'Named leases held by this process',
    attributes: [provider, leaseName],
  },
  // A moment, not an age: of several processes some tell it late, and the newest is the right one.
  'rerunsafe.lease.last_success.timestamp': {
    kind: 'gauge',
    unit: 's',
    description: 'When the last slot that is done was due, since the epoch',
    attributes: [provider, leaseName],
  },
} as const satisfies Record<string, Metric & { readonly attributes: readonly string[] }>;

export type MetricName = keyof typeof METRICS;

/** Seconds: from a replay in memory to a job of an hour. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

export type RecordMetric = (name: MetricName, value: number, attributes: Attributes) => void;

/** The instruments of one meter. */
export function recorder(meter: Meter): RecordMetric {
  const instruments = new Map(Object.entries(METRICS).map(([name, metric]) => [name, instrumentOf(meter, name, metric)]));
  return (name, value, attributes) => instruments.get(name)?.(value, attributes);
}

function instrumentOf(meter: Meter, name: string, { kind, unit, description }: Metric): (value: number, attributes: Attributes) => void {
  const options: MetricOptions = { unit, description };
  switch (kind) {
    case 'counter': {
      const counter = meter.createCounter(name, options);
      return (value, attributes) => counter.add(value, attributes);
    }
    case 'up-down counter': {
      const counter = meter.createUpDownCounter(name, options);
      return (value, attributes) => counter.add(value, attributes);
    }
    case 'histogram': {
      const histogram = meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries: BUCKETS_S } });
      return (value, attributes) => histogram.record(value, attributes);
    }
    case 'gauge': {
      const gauge = meter.createGauge(name, options);
      return (value, attributes) => gauge.record(value, attributes);
    }
  }
}
