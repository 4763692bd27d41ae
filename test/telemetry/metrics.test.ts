import { readFile } from 'node:fs/promises';
import { context, metrics, trace } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { DataPointType } from '@opentelemetry/sdk-metrics';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryStore, runOnce, storeLeases, tryAcquire, withLease } from '../../src/index.ts';
import { RerunSafeInstrumentation } from '../../src/telemetry/opentelemetry/index.ts';
import { METRICS } from '../../src/telemetry/opentelemetry/metrics.ts';
import { bench, held } from '../unit/core/engine.ts';
import { everything, OPERATION } from './everything.ts';
import { type Otel, otel } from './otel.ts';

let instrumentation: RerunSafeInstrumentation;
let o: Otel;
beforeEach(() => {
  instrumentation = new RerunSafeInstrumentation({ leaseNames: ['nightly'] });
  o = otel(instrumentation);
});
afterEach(() => o.stop());

const ignore = (): void => {};
const KINDS = {
  counter: DataPointType.SUM,
  'up-down counter': DataPointType.SUM,
  histogram: DataPointType.HISTOGRAM,
  gauge: DataPointType.GAUGE,
} as const;

describe('the metrics', () => {
  it('are those that are declared, no other, with their units, kinds and attributes', async () => {
    await everything();
    const found = Object.fromEntries(
      (await o.metrics()).map(({ descriptor, dataPointType, dataPoints }) => [
        descriptor.name,
        {
          unit: descriptor.unit,
          description: descriptor.description,
          type: dataPointType,
          attributes: [...new Set(dataPoints.flatMap(({ attributes }) => Object.keys(attributes)))].sort(),
        },
      ]),
    );
    const declared = Object.fromEntries(
      Object.entries(METRICS).map(([name, { unit, description, kind, attributes }]) => [
        name,
        { unit, description, type: KINDS[kind], attributes: [...attributes].sort() },
      ]),
    );
    expect(found).toEqual(declared);
  });

  it('have few series: nothing of key, scope, token or owner is in them, and errors of the user are one', async () => {
    const store = memoryStore();
    class OrderError7 extends Error {
      override name = 'OrderError-4711';
    }
    for (let n = 0; n < 50; n++) {
      await runOnce({ store, operation: 'payments/charge', key: `order-${n}`, scope: `tenant-${n}` }, () => n);
      await runOnce({ store, operation: 'payments/charge', key: `failing-${n}` }, () => Promise.reject(new OrderError7('mine'))).catch(ignore);
      await withLease(storeLeases(store), `tenant-${n}`, {}, ignore);
    }
    const points = (await o.metrics()).flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => JSON.stringify(attributes)));
    expect(points.length).toBeLessThan(20);
    expect(points.filter((attributes) => /order|tenant|failing|4711|r1_/i.test(attributes))).toEqual([]);
  });

  it('count each event of a run by operation, and tell an error of ours by its code', async () => {
    const b = bench();
    await b.run(() => 1);
    await b.run(() => 1);
    b.plan.create = () => 'unavailable';
    await b.run(() => 1, { key: 'other' }).catch(ignore);
    const where = { 'rerunsafe.operation': OPERATION, 'rerunsafe.store': b.store.name };
    expect(await o.points('rerunsafe.run.events')).toEqual([
      { attributes: { ...where, 'rerunsafe.event': 'claimed' }, value: 1 },
      { attributes: { ...where, 'rerunsafe.event': 'completed' }, value: 1 },
      { attributes: { ...where, 'rerunsafe.event': 'replayed' }, value: 1 },
      { attributes: { ...where, 'rerunsafe.event': 'refused', 'error.type': 'STORE_UNAVAILABLE' }, value: 1 },
    ]);
    expect(await o.points('rerunsafe.run.duration')).toEqual(
      ['completed', 'replayed', 'refused'].map((outcome) => ({ attributes: { ...where, 'rerunsafe.outcome': outcome }, value: 1 })),
    );
    expect(await o.points('rerunsafe.attempt.duration')).toEqual([{ attributes: { ...where, 'rerunsafe.outcome': 'completed' }, value: 1 }]);
  });

  it('show what is under way, and nothing when it is over, also where it failed', async () => {
    const store = memoryStore();
    const leases = storeLeases(store);
    const one = held<number>();
    const two = held<number>();
    const running = [one, two].map(({ work }, n) => runOnce({ store, operation: 'op', key: `${n}` }, work).catch(ignore));
    const got = await tryAcquire(leases, 'nightly');
    await Promise.all([one.started, two.started]);
    const active = async (): Promise<number[]> =>
      (await Promise.all([o.points('rerunsafe.attempt.active'), o.points('rerunsafe.lease.active')])).flat().map(({ value }) => value);
    expect(await active()).toEqual([2, 1]);
    one.end(1);
    two.fail(new Error('mine'));
    await Promise.all(running);
    if (got.kind === 'acquired') await got.lease.release();
    expect(await active()).toEqual([0, 0]);
  });

  it('of a lease that is lost and then released count it once, and one that was held before anybody listened never', async () => {
    instrumentation.disable();
    const leases = storeLeases(memoryStore());
    const older = await tryAcquire(leases, 'nightly', { renew: 'none' });
    instrumentation.enable();
    if (older.kind === 'acquired') await older.lease.release();
    expect(await o.points('rerunsafe.lease.active')).toEqual([]);
    const got = await tryAcquire(leases, 'nightly', { leaseMs: 100, renew: 'none' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    if (got.kind === 'acquired') expect(await got.lease.release()).toBe('lost');
    expect((await o.points('rerunsafe.lease.active')).map(({ value }) => value)).toEqual([0]);
    expect((await o.points('rerunsafe.lease.held.duration')).map(({ value }) => value)).toEqual([1]);
  });

  it('of a lease that is held while the names change, or while nobody listens any more, leave nothing behind', async () => {
    const leases = storeLeases(memoryStore());
    const first = await tryAcquire(leases, 'nightly');
    instrumentation.setConfig({});
    if (first.kind === 'acquired') await first.lease.release();
    const second = await tryAcquire(leases, 'nightly');
    instrumentation.disable();
    if (second.kind === 'acquired') await second.lease.release();
    expect((await o.points('rerunsafe.lease.active')).map(({ value }) => value)).toEqual([0, 0]);
  });

  it('tell when the jobs that are listed last succeeded, and of no other', async () => {
    const leases = storeLeases(memoryStore());
    const slot = Date.now() - 90_000;
    for (const name of ['nightly', 'hourly']) {
      await withLease(leases, name, { slot }, ignore);
      await withLease(leases, name, { slot }, ignore);
    }
    const [last, ...others] = await o.points('rerunsafe.lease.last_success.timestamp');
    expect(others).toEqual([]);
    expect(last?.attributes).toEqual({ 'rerunsafe.lease.provider': leases.name, 'rerunsafe.lease.name': 'nightly' });
    // Told in ms of age, by a clock that may tick in between.
    expect(last?.value).toBeCloseTo(slot / 1_000, 0);
  });
});

describe('the instrumentation', () => {
  it('is one like any other: it can be registered, enabled and disabled, and hears nothing in between', async () => {
    const store = memoryStore();
    const run = (key: string): Promise<number> => runOnce({ store, operation: 'op', key }, () => 1);
    instrumentation.disable();
    await run('unheard');
    expect(o.spans()).toEqual([]);
    const other = new RerunSafeInstrumentation({ enabled: false });
    await run('unheard too');
    const stop = registerInstrumentations({ instrumentations: [other], tracerProvider: o.tracerProvider, meterProvider: o.meterProvider });
    other.enable();
    other.enable();
    await run('heard');
    stop();
    await run('after');
    expect(o.spans()).toHaveLength(1);
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
    expect([other.instrumentationName, other.instrumentationVersion]).toEqual(['rerunsafe', version]);
  });

  it('uses the global providers, also those that are set after the first run', async () => {
    instrumentation.disable();
    const late = new RerunSafeInstrumentation();
    try {
      const store = memoryStore();
      await runOnce({ store, operation: 'early', key: 'k' }, () => 1);
      trace.setGlobalTracerProvider(o.tracerProvider);
      metrics.setGlobalMeterProvider(o.meterProvider);
      await runOnce({ store, operation: 'late', key: 'k' }, () => 1);
      expect(o.spans().map(({ name }) => name)).toEqual(['run late']);
      expect((await o.points('rerunsafe.run.duration')).map(({ attributes }) => attributes)).toEqual([
        { 'rerunsafe.operation': 'late', 'rerunsafe.store': 'memory', 'rerunsafe.outcome': 'completed' },
      ]);
    } finally {
      late.disable();
      trace.disable();
      metrics.disable();
    }
  });

  it('measures where nobody manages a context, too', async () => {
    context.disable();
    const b = bench();
    await b.run(() => 1);
    expect(await o.points('rerunsafe.attempt.duration')).toMatchObject([{ value: 1 }]);
    expect(o.spans().map(({ attributes }) => attributes['rerunsafe.outcome'])).toEqual(['completed']);
  });

  it.each<[string, unknown]>([
    ['an option that is not known', { key: true }],
    ['a name that is none', { leaseNames: [''] }],
    ['one name instead of several', { leaseNames: 'nightly' }],
    ['more names than metrics bear', { leaseNames: Array.from({ length: 1_001 }, (_, n) => `job-${n}`) }],
    ['what is no object', null],
  ])('refuses %s', (_, config) => {
    expect(() => new RerunSafeInstrumentation(config as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    expect(() => instrumentation.setConfig(config as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});

describe('a meter or a tracer that is broken', () => {
  const broken = (): never => {
    throw new Error('broken');
  };
  const brokenSpan = new Proxy({}, { get: () => broken });
  const brokenMeter = {
    createCounter: () => ({ add: broken }),
    createUpDownCounter: () => ({ add: broken }),
    createHistogram: () => ({ record: broken }),
    createGauge: () => ({ record: broken }),
  };

  it.each<[string, { tracer?: object; meter?: object }]>([
    ['no span can be started', { tracer: { startSpan: broken } }],
    ['nothing can be said of a span', { tracer: { startSpan: () => brokenSpan } }],
    ['nothing can be measured', { meter: brokenMeter }],
    ['no instrument can be made', { meter: { createCounter: broken } }],
    ['nothing works', { tracer: undefined as never, meter: undefined as never }],
  ])('I4 %s: the work runs once, and its caller hears nothing of that', async (_, { tracer, meter }) => {
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', onUncaught);
    process.on('unhandledRejection', onUncaught);
    try {
      instrumentation.setTracerProvider({ getTracer: () => tracer } as never);
      instrumentation.setMeterProvider({ getMeter: () => meter } as never);
      const store = memoryStore();
      let calls = 0;
      const run = (key: string, fails = false): Promise<number> =>
        runOnce({ store, operation: 'op', key }, async (run) => {
          calls += await run.step('s', () => 1);
          if (fails) throw new Error('mine');
          return calls;
        });
      expect([await run('k'), await run('k')]).toEqual([1, 1]);
      await expect(run('failing', true)).rejects.toThrow('mine');
      expect(await withLease(storeLeases(store), 'nightly', {}, () => 'v')).toMatchObject({ kind: 'done', value: 'v' });
      await new Promise(setImmediate);
      expect([calls, uncaught]).toEqual([2, []]);
    } finally {
      process.off('uncaughtException', onUncaught);
      process.off('unhandledRejection', onUncaught);
    }
  });
});
