/**
 * Makes spans and measurements of what core tells.
 *
 * @module
 */
import { type Context, context, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { LeaseEvent, RunEvent } from '../../core/events.ts';
import type { CallMessage } from '../../core/observed.ts';
import { checkOptions, isBoolean, isName, type Rules } from '../../core/options.ts';
import { listen, quietly } from '../listen.ts';
import type { End } from './ended-span.ts';
import { errorType } from './error-facts.ts';
import { LeaseMetrics } from './lease-metrics.ts';
import { LeaseWatch } from './lease-watch.ts';
import { ATTRIBUTES } from './metrics.ts';
import { RunWatch } from './run-watch.ts';
import { SCOPE, Sink, VERSION } from './sink.ts';
import { StepWatch } from './step-watch.ts';
import { Watches } from './watches.ts';

export interface RerunSafeInstrumentationConfig {
  /** Begin at once. Default true; otherwise by `enable()`. */
  readonly enabled?: boolean;
  /**
   * Also the key, as the record shows it to people (`label`), as `rerunsafe.key` on spans. Default false: a key may be an order's number, or a person's
   * address. Never on metrics.
   */
  readonly keys?: boolean;
  /**
   * The names of leases (jobs) that metrics tell apart; all others are `_OTHER`, for a lease may be named after a tenant. Default none. When each
   * last succeeded is measured for these alone. At most 1000.
   */
  readonly leaseNames?: readonly string[];
}

const MOST_NAMES = 1_000;
const RULES: Rules = {
  enabled: isBoolean,
  keys: isBoolean,
  leaseNames: (value) =>
    Array.isArray(value) && value.length <= MOST_NAMES && value.every((name) => isName(512)(name) === undefined)
      ? undefined
      : `must be an array of at most ${MOST_NAMES} names`,
};

/**
 * Spans and metrics of guarded runs, steps and leases, by `node:diagnostics_channel`; nothing is patched. Register it like any other instrumentation, or
 * make one and be done: it uses the global providers, also those that are set later. One for a process: two would count everything twice.
 *
 * Nothing that goes wrong in it, or in a meter or an exporter, reaches a run; it is warned about once.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`.
 * @example
 * new NodeSDK({ traceExporter, metricReaders, instrumentations: [new RerunSafeInstrumentation({ leaseNames: ['nightly'] })] }).start();
 */
export class RerunSafeInstrumentation {
  readonly instrumentationName = SCOPE;
  readonly instrumentationVersion = VERSION;
  readonly #sink = new Sink();
  readonly #runs = new Watches<RunEvent, RunWatch>();
  readonly #leases = new Watches<LeaseEvent, LeaseWatch>();
  readonly #leaseMetrics = new LeaseMetrics(this.#sink);
  #config: RerunSafeInstrumentationConfig = {};
  #stops: readonly (() => void)[] = [];

  constructor(config: RerunSafeInstrumentationConfig = {}) {
    this.setConfig(config);
    if (config.enabled !== false) this.enable();
  }

  enable(): void {
    if (this.#stops.length > 0) return;
    this.#stops = [
      listen<CallMessage>('rerunsafe:call', (message) => this.#call(message)),
      listen<RunEvent>('rerunsafe:run', (event) => this.#run(event)),
      listen<LeaseEvent>('rerunsafe:lease', (event) => this.#lease(event)),
    ];
  }

  disable(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    quietly(() => this.#leaseMetrics.stop())();
  }

  /** Instead of the global one. */
  setTracerProvider(provider: TracerProvider): void {
    this.#sink.tracerProvider = provider;
  }

  /** Instead of the global one. */
  setMeterProvider(provider: MeterProvider): void {
    this.#sink.meterProvider = provider;
  }

  setConfig(config: RerunSafeInstrumentationConfig): void {
    checkOptions('RerunSafeInstrumentation', config, RULES);
    this.#config = config;
    this.#leaseMetrics.names = config.leaseNames ?? [];
  }

  getConfig(): RerunSafeInstrumentationConfig {
    return this.#config;
  }

  #call(message: CallMessage): void {
    message.around((call) => {
      switch (message.kind) {
        case 'run': {
          const watch = new RunWatch(message, this.#sink, this.#config.keys === true);
          follow(
            watch,
            () => this.#runs.run(watch, call),
            () => this.#runs.ended(watch),
          );
          break;
        }
        case 'step':
          follow(new StepWatch(message, this.#sink), call);
          break;
        case 'lease': {
          const watch = new LeaseWatch(message, this.#sink);
          follow(
            watch,
            () => this.#leases.run(watch, call),
            () => this.#leases.ended(watch),
          );
        }
      }
    });
  }

  #run(event: RunEvent): void {
    const { operation, store, event: name, error } = event;
    const attributes = { [ATTRIBUTES.operation]: operation, [ATTRIBUTES.store]: store, [ATTRIBUTES.event]: name, ...errorType(error) };
    this.#sink.record('rerunsafe.run.events', 1, attributes);
    this.#runs.of(event)?.hear(event);
  }

  #lease(event: LeaseEvent): void {
    this.#leaseMetrics.hear(event);
    this.#leases.of(event)?.hear(event);
  }
}

/** Begins the call in the context of its span, and sees it end. */
function follow(watch: { readonly context: Context; end(end: End): void }, call: () => Promise<unknown>, ended = (): void => {}): void {
  const end = quietly((how: End) => {
    ended();
    watch.end(how);
  });
  quietly(() => void context.with(watch.context, call))();
  // The same one, or begun only now, where a context could not be had.
  call().then(
    (value) => end({ value }),
    (error: unknown) => end({ error }),
  );
}
