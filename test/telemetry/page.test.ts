import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';
import { LEASE_LINES, RUN_LINES } from '../../src/telemetry/log/lines.ts';
import { RerunSafeInstrumentation } from '../../src/telemetry/opentelemetry/index.ts';
import { METRICS } from '../../src/telemetry/opentelemetry/metrics.ts';
import { everything, type Told } from './everything.ts';
import { otel } from './otel.ts';
import { askedBy } from './queries.ts';

const page = await readFile(join(ROOT, 'docs/observability.md'), 'utf8');

/** The rows of the first table under a heading, cell by cell. */
function tableUnder(heading: string): string[][] {
  const [, section = ''] = page.split(new RegExp(`\n#+ ${heading}\n`));
  const lines = section.split('\n');
  const first = lines.findIndex((line) => line.startsWith('| '));
  const rows = lines.slice(
    first,
    lines.findIndex((line, n) => n > first && !line.startsWith('|')),
  );
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}
/** What stands in a cell between backticks. */
const names = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const sorted = (of: Iterable<string>): string[] => [...new Set(of)].sort();

interface Series {
  readonly labels: Set<string>;
  /** Of each label. */
  readonly values: Map<string, Set<string>>;
}

let told: Told;
let spans: ReadableSpan[];
/** By OTLP metrics get their unit as a suffix, before that of their kind; this exporter leaves it off. */
function withUnit(name: string): string {
  const inSeconds = Object.entries(METRICS).flatMap(([of, { unit }]) => (unit === 's' ? [of.replaceAll('.', '_')] : []));
  const base = inSeconds.find((of) => name.startsWith(of));
  return base === undefined ? name : name.replace(base, `${base}_seconds`);
}

/** As Prometheus gets them. */
const series = new Map<string, Series>();

beforeAll(async () => {
  const instrumentation = new RerunSafeInstrumentation({ leaseNames: ['nightly'], keys: true });
  const o = otel(instrumentation);
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2_000_000_000 })] });
  instrumentation.setMeterProvider(meters);
  told = await everything();
  spans = [...o.spans()];
  await meters.forceFlush();
  const [metrics] = exporter.getMetrics();
  if (metrics === undefined) throw new Error('nothing was measured');
  for (const line of new PrometheusSerializer().serialize(metrics).split('\n')) {
    const [, bare, labels] = /^(rerunsafe_\w+)\{(.*)\} /.exec(line) ?? [];
    if (bare === undefined || labels === undefined) continue;
    const name = withUnit(bare);
    const known = series.get(name) ?? { labels: new Set(), values: new Map() };
    series.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      known.labels.add(label);
      known.values.set(label, (known.values.get(label) ?? new Set()).add(value));
    }
  }
  await meters.shutdown();
  await o.stop();
});

describe('the tables of events', () => {
  const FIELDS_OF_ALL = { Runs: ['event', 'operation', 'id', 'store'], Leases: ['event', 'name', 'provider'] };
  it.each([
    ['Runs', RUN_LINES],
    ['Leases', LEASE_LINES],
  ] as const)('%s: every event of core and no other, with the level of the log', (heading, lines) => {
    const found = tableUnder(heading).map(([event, , , level]) => [names(event)[0], level]);
    expect(found).toEqual(Object.entries(lines).map(([event, { level }]) => [event, level]));
  });

  it.each(['Runs', 'Leases'] as const)('%s: the fields that the engine gives them, and something to do about each', (heading) => {
    const events: readonly { readonly event: string }[] = heading === 'Runs' ? told.runs : told.leases;
    const given = Object.fromEntries(
      tableUnder(heading).map(([event = '']) => {
        const [name] = names(event);
        const ofIt = events.filter((one) => one.event === name);
        const fields = ofIt.flatMap((one) => Object.entries(one).flatMap(([field, value]) => (value === undefined ? [] : [field])));
        return [name, sorted(fields.filter((field) => !FIELDS_OF_ALL[heading].includes(field)))];
      }),
    );
    expect(Object.fromEntries(tableUnder(heading).map(([event, , fields]) => [names(event)[0], sorted(names(fields))]))).toEqual(given);
    for (const cells of tableUnder(heading)) {
      expect(cells).toHaveLength(5);
      expect(cells.every((cell) => cell !== '')).toBe(true);
    }
    expect(sorted(events.map(({ event }) => event))).toEqual(sorted(Object.keys(given)));
  });
});

describe('the tables of OpenTelemetry', () => {
  it('metrics: those that are measured, with kind, unit and attributes', () => {
    const found = tableUnder('Metrics').map(([name, kind, unit, attributes]) => [names(name)[0], kind, names(unit)[0], names(attributes)]);
    expect(found).toEqual(Object.entries(METRICS).map(([name, { kind, unit, attributes }]) => [name, kind, unit, attributes]));
  });

  it('spans: those that are made, with the attributes that they have', () => {
    const kindOf = (name: string): string => name.split(' ')[0] ?? '';
    const made = sorted(spans.map(({ name }) => kindOf(name)));
    const attributes = (kind: string): string[] =>
      sorted(spans.filter(({ name }) => kindOf(name) === kind).flatMap(({ attributes }) => Object.keys(attributes)));
    const found = tableUnder('Spans').map(([name, listed]) => [kindOf(names(name)[0] ?? ''), sorted(names(listed))]);
    expect(found.sort()).toEqual(made.map((kind) => [kind, attributes(kind)]));
  });

  it('names nothing that there is not', () => {
    const known = new Set([
      ...Object.keys(METRICS),
      ...Object.values(METRICS).flatMap(({ attributes }): readonly string[] => attributes),
      ...spans.flatMap(({ attributes, events }) => [...Object.keys(attributes), ...events.map(({ name }) => name)]),
    ]);
    const named = [...page.matchAll(/[`"](rerunsafe\.[a-z_.-]+)[`"]/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('what is asked of Prometheus', () => {
  let queries: (readonly [where: string, query: string])[];
  beforeAll(async () => {
    const { panels } = JSON.parse(await readFile(join(ROOT, 'docs/dashboards/grafana.json'), 'utf8')) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    queries = [
      ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
      ...[...page.matchAll(/\*\*(.*)\*\*.*\n\n```promql\n([\s\S]*?)\n```/g)].map(([, title = '', query = '']) => [title, query] as const),
    ];
  });

  /** What is wrong with a query. */
  function complaints(query: string): string[] {
    const { selectors, groupedBy, errors } = askedBy(query);
    const ofAll = new Set(selectors.flatMap(({ metric }) => [...(series.get(metric)?.labels ?? [])]));
    return [
      ...errors,
      ...selectors.filter(({ metric }) => !series.has(metric)).map(({ metric }) => `no metric ${metric}`),
      ...groupedBy.filter((label) => !ofAll.has(label)).map((label) => `nothing has ${label}`),
      ...selectors.flatMap(({ metric, matchers }) =>
        matchers.flatMap(({ label, values }) => {
          const seen = series.get(metric)?.values.get(label);
          if (seen === undefined) return [`${metric} has no ${label}`];
          return values.filter((value) => !['', '.*'].includes(value) && !seen.has(value)).map((value) => `${metric}: ${label} is never ${value}`);
        }),
      ),
    ];
  }

  it('there are panels and alerts', () => {
    expect(queries.length).toBeGreaterThan(20);
    expect(sorted(queries.flatMap(([, query]) => askedBy(query).selectors.map(({ metric }) => metric.replace(/_(bucket|count|sum)$/, ''))))).toEqual(
      sorted([...series.keys()].map((name) => name.replace(/_(bucket|count|sum)$/, ''))),
    );
  });

  it('by panels and alerts is PromQL, for metrics, labels and values that there are', () => {
    const wrong = queries.map(([where, query]) => [where, complaints(query)] as const).filter(([, found]) => found.length > 0);
    expect(wrong).toEqual([]);
  });

  it.each([
    ['a metric that there is not', 'sum(rate(rerunsafe_runs_total[5m]))', 'no metric rerunsafe_runs_total'],
    ['a label that there is not', 'sum by (operation) (rerunsafe_attempt_active)', 'nothing has operation'],
    ['a matcher on another label', 'rerunsafe_attempt_active{rerunsafe_event="claimed"}', 'rerunsafe_attempt_active has no rerunsafe_event'],
    [
      'a value that never comes',
      'rerunsafe_run_events_total{rerunsafe_event=~"claimed|lost"}',
      'rerunsafe_run_events_total: rerunsafe_event is never lost',
    ],
    ['what is no PromQL', 'sum(rate(rerunsafe_run_events_total[5m])', 'the end at'],
  ])('%s would be found', (_, query, complaint) => {
    expect(complaints(query)[0]).toContain(complaint);
  });
});
