/**
 * `rerunsafe/opentelemetry`: spans and metrics of what is guarded.
 *
 * @module
 */
export { RerunSafeInstrumentation, type RerunSafeInstrumentationConfig } from './instrumentation.ts';
