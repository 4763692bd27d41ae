import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';

const exec = promisify(execFile);

/** Runs with what was given to it, and prints what the exporters got. The same text, whichever way it gets its modules. */
const PROGRAM = `
async function main({ rerunsafe, telemetry, log, api, traces, metrics, hooks }) {
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  const spans = new traces.InMemorySpanExporter();
  api.trace.setGlobalTracerProvider(new traces.BasicTracerProvider({ spanProcessors: [new traces.SimpleSpanProcessor(spans)] }));
  const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.DELTA);
  const meters = new metrics.MeterProvider({ readers: [new metrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2_000_000_000 })] });
  api.metrics.setGlobalMeterProvider(meters);
  new telemetry.RerunSafeInstrumentation();
  const lines = [];
  const keep = (message) => lines.push(message);
  log.logEvents({ info: keep, warn: keep, error: keep });
  const options = { store: rerunsafe.memoryStore(), operation: 'op', key: 'k' };
  const work = (run) => run.step('s', () => api.trace.getTracer('user').startSpan('work').end());
  await rerunsafe.runOnce({ ...options, key: 'fails' }, () => Promise.reject(new Error('mine'))).catch(() => {});
  await rerunsafe.runOnce(options, work);
  await rerunsafe.runOnce(options, work);
  await meters.forceFlush();
  const named = Object.fromEntries(spans.getFinishedSpans().map((span) => [span.spanContext().spanId, span.name]));
  const told = exporter.getMetrics()[0].scopeMetrics.flatMap((scope) => scope.metrics);
  await meters.shutdown();
  process.stdout.write(JSON.stringify({
    spans: spans.getFinishedSpans().map((span) => [span.name, named[span.parentSpanContext?.spanId] ?? '']),
    metrics: told.map(({ descriptor }) => descriptor.name).sort(),
    lines,
  }));
}
`;

const OTEL = { api: 'api', traces: 'sdk-trace-base', metrics: 'sdk-metrics', hooks: 'context-async-hooks' };
const PACKAGES: Readonly<Record<string, string>> = {
  rerunsafe: 'rerunsafe',
  telemetry: 'rerunsafe/opentelemetry',
  log: 'rerunsafe/log',
  ...Object.fromEntries(Object.entries(OTEL).map(([name, path]) => [name, `@opentelemetry/${path}`])),
};

const required = (name: string): string => `${name}: require('${PACKAGES[name]}')`;
const imported = (name: string): string => `${name}: await import('${PACKAGES[name]}')`;
const names = Object.keys(PACKAGES);

const WAYS: Readonly<Record<string, readonly string[]>> = {
  'ES modules': ['--input-type=module', '-e', `${PROGRAM}\nawait main({ ${names.map(imported).join(', ')} });`],
  CommonJS: ['--input-type=commonjs', '-e', `${PROGRAM}\nmain({ ${names.map(required).join(', ')} });`],
  'both, so that two copies of the package are loaded': [
    '--input-type=commonjs',
    '-e',
    `${PROGRAM}\n(async () => main({ ${imported('rerunsafe')}, ${names.slice(1).map(required).join(', ')} }))();`,
  ],
};

describe('the package as it is built', () => {
  it.each(Object.keys(WAYS))('is seen through %s: spans, the context of the work, metrics, lines', async (way) => {
    const { stdout, stderr } = await exec(process.execPath, [...(WAYS[way] as readonly string[])], { cwd: ROOT });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      spans: [
        ['run op', ''],
        ['work', 'step s'],
        ['step s', 'run op'],
        ['run op', ''],
        ['run op', ''],
      ],
      metrics: [
        'rerunsafe.attempt.active',
        'rerunsafe.attempt.duration',
        'rerunsafe.run.duration',
        'rerunsafe.run.events',
        'rerunsafe.step.duration',
      ],
      lines: ['op: the work has failed; it may run again.'],
    });
  });
});
