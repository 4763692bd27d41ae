import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore, PermanentError, runOnce, storeLeases, tryRunOnce, withLease } from '../../src/index.ts';
import { runInTransaction, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { RerunSafeInstrumentation } from '../../src/telemetry/opentelemetry/index.ts';
import { lambdaContext } from '../support/aws-events.ts';
import { bench, held, inTime } from '../unit/core/engine.ts';
import { type Otel, otel } from './otel.ts';

let instrumentation: RerunSafeInstrumentation;
let o: Otel;
beforeEach(() => {
  instrumentation = new RerunSafeInstrumentation();
  o = otel(instrumentation);
});
afterEach(() => o.stop());

const ignore = (): void => {};
const named = (name: string): ReadableSpan[] => o.spans().filter((span) => span.name === name);
const eventsOf = ({ events }: ReadableSpan): string[] => events.map(({ name }) => name);

describe('the span of a run', () => {
  it('I11 says who it is, which attempt, and how it ended: the first and its replay', async () => {
    const options = { store: memoryStore(), operation: 'payments/charge', key: 'order-7' };
    await runOnce(options, () => 1);
    await runOnce(options, () => 2);
    const [first, replay, ...others] = named('run payments/charge');
    expect(others).toEqual([]);
    const common = {
      'rerunsafe.operation': 'payments/charge',
      'rerunsafe.store': 'memory',
      'rerunsafe.id': expect.stringMatching(/^r1_[\w-]{43}$/),
      'rerunsafe.attempt': 1,
    };
    expect(first?.attributes).toEqual({
      ...common,
      'rerunsafe.token': expect.any(Number),
      'rerunsafe.outcome': 'completed',
      'rerunsafe.replayed': false,
    });
    expect(replay?.attributes).toEqual({ ...common, 'rerunsafe.outcome': 'replayed', 'rerunsafe.replayed': true });
    expect([first, replay].map((span) => span && eventsOf(span))).toEqual([['rerunsafe.claimed', 'rerunsafe.completed'], ['rerunsafe.replayed']]);
    expect([first?.status.code, replay?.status.code]).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
    expect(first?.instrumentationScope).toMatchObject({ name: 'rerunsafe' });
  });

  it('is the parent of what the work traces, and of the run inside of it; its own parent is what was active outside', async () => {
    const store = memoryStore();
    const tracer = o.tracerProvider.getTracer('user');
    await tracer.startActiveSpan('request', async (request) => {
      await runOnce({ store, operation: 'outer', key: 'k' }, async (run) => {
        await new Promise(setImmediate);
        tracer.startSpan('at the provider').end();
        await run.step('charge', async () => tracer.startSpan('inside of the step').end());
        await runOnce({ store, operation: 'inner', key: 'k' }, () => tracer.startSpan('inside of the inner').end());
      });
      tracer.startSpan('after').end();
      request.end();
    });
    const parents = Object.fromEntries(
      o.spans().map(({ name, parentSpanContext }) => [name, o.spans().find((span) => span.spanContext().spanId === parentSpanContext?.spanId)?.name]),
    );
    expect(parents).toEqual({
      request: undefined,
      'run outer': 'request',
      'at the provider': 'run outer',
      'step charge': 'run outer',
      'inside of the step': 'step charge',
      'run inner': 'run outer',
      'inside of the inner': 'run inner',
      after: 'request',
    });
    expect(trace.getSpan(context.active())).toBeUndefined();
  });

  it('of two runs at once is each its own', async () => {
    const store = memoryStore();
    const tracer = o.tracerProvider.getTracer('user');
    const one = (key: string): Promise<void> =>
      runOnce({ store, operation: `op/${key}`, key }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        tracer.startSpan(`work of ${key}`).end();
      });
    await Promise.all(['a', 'b', 'c'].map(one));
    for (const key of ['a', 'b', 'c']) {
      expect(named(`work of ${key}`)[0]?.parentSpanContext?.spanId).toBe(named(`run op/${key}`)[0]?.spanContext().spanId);
      expect(named(`run op/${key}`).map(eventsOf)).toEqual([['rerunsafe.claimed', 'rerunsafe.completed']]);
    }
  });

  it('of a takeover says so, and that of the stale attempt says that its lease was lost', async () => {
    const b = bench({ renew: 'none' });
    const slow = held<number>();
    const stale = b.run(slow.work).catch(ignore);
    await slow.started;
    await b.clock.advance(5_000);
    await b.run(() => 2);
    slow.end(1);
    await inTime(b.clock, stale);
    const [newer, older] = named('run test/op');
    expect(newer && eventsOf(newer)).toEqual(['rerunsafe.taken-over', 'rerunsafe.completed']);
    expect(newer?.attributes['rerunsafe.attempt']).toBe(2);
    expect(older && eventsOf(older)).toEqual(['rerunsafe.claimed', 'rerunsafe.lease-lost']);
    expect(older?.attributes).toMatchObject({ 'rerunsafe.outcome': 'lease-lost', 'rerunsafe.attempt': 1 });
  });

  it('has failed where the caller gets an error: the very thing that was thrown, and what was remembered', async () => {
    const store = memoryStore();
    await runOnce({ store, operation: 'throws', key: 'k' }, () => Promise.reject(new TypeError('mine'))).catch(ignore);
    for (let n = 0; n < 2; n++)
      await runOnce({ store, operation: 'for good', key: 'k' }, () => Promise.reject(new PermanentError('no funds'))).catch(ignore);
    await runOnce({ store, operation: 'no error', key: 'k' }, () => Promise.reject('a string')).catch(ignore);
    const told = o.spans().map(({ attributes, status, events }) => ({
      outcome: attributes['rerunsafe.outcome'],
      type: attributes['error.type'],
      failed: status.code === SpanStatusCode.ERROR,
      exception: events.find(({ name }) => name === 'exception')?.attributes?.['exception.message'],
    }));
    expect(told).toEqual([
      { outcome: 'released', type: 'TypeError', failed: true, exception: 'mine' },
      { outcome: 'remembered', type: 'PermanentError', failed: true, exception: 'no funds' },
      { outcome: 'replayed', type: 'PermanentError', failed: true, exception: 'no funds' },
      { outcome: 'released', type: '_OTHER', failed: true, exception: 'a string' },
    ]);
  });

  it('ends, whatever was thrown', async () => {
    const store = memoryStore();
    const unreadable = new Proxy(new Error('x'), {
      get: () => {
        throw new Error('do not look');
      },
    });
    for (const [n, thrown] of [null, undefined, Object.create(null), unreadable, 10n, Symbol('s')].entries())
      await runOnce({ store, operation: `throws ${n}`, key: 'k' }, async (run) => run.step('s', () => Promise.reject(thrown))).catch(ignore);
    expect(o.spans().filter(({ name }) => name.startsWith('run throws '))).toHaveLength(6);
    expect(o.spans().every(({ ended, status }) => ended && status.code === SpanStatusCode.ERROR)).toBe(true);
    expect(named('step s')).toHaveLength(6);
  });

  it('has not failed where normal life came in between: in flight, another input; blocked is for a person to look at', async () => {
    const b = bench({ leaseMs: 1_000 });
    const first = held<number>();
    const running = b.run(first.work, { input: 1 });
    await first.started;
    await b.run(() => 2, { input: 1 });
    await b.run(() => 2, { input: 2 });
    first.end(1);
    await running;
    await b.run(() => Promise.reject(new Error('?')), { key: 'unknown', onUnknown: 'block' }).catch(ignore);
    await b.clock.advance(2_000);
    await b.run(() => 1, { key: 'unknown', onUnknown: 'block' });
    const told = named('run test/op').map(({ attributes, status }) => [attributes['rerunsafe.outcome'], status.code === SpanStatusCode.ERROR]);
    expect(told).toEqual([
      ['in-flight', false],
      ['key-reused', false],
      ['completed', false],
      ['unknown', true],
      ['blocked', true],
    ]);
  });

  it('of a call that its caller gave up says cancelled', async () => {
    const store = memoryStore();
    const signal = AbortSignal.abort();
    await tryRunOnce({ store, operation: 'given up', key: 'k', signal }, () => 1).catch(ignore);
    expect(named('run given up')[0]?.attributes['rerunsafe.outcome']).toBe('cancelled');
  });

  it('of a run that is not guarded says so, whatever the work does', async () => {
    const b = bench({ onStoreDown: 'run' });
    b.plan.create = () => 'unavailable';
    b.plan.read = () => 'unavailable';
    await b.run(() => 1);
    await b.run(() => Promise.reject(new Error('mine'))).catch(ignore);
    expect(named('run test/op').map(({ attributes }) => attributes['rerunsafe.outcome'])).toEqual(['unguarded', 'unguarded']);
  });

  it('never carries the key, unless that is switched on: then as the record shows it', async () => {
    const store = memoryStore();
    const key = 'anna@example.org';
    await runOnce({ store, operation: 'op', key }, () => 1);
    expect(JSON.stringify(o.spans().map(({ attributes, events, name }) => ({ attributes, events, name })))).not.toContain('anna');
    instrumentation.setConfig({ keys: true });
    await runOnce({ store, operation: 'op', key }, () => 1);
    await runOnce({ store, operation: 'hidden', key, label: false }, () => 1);
    expect(o.spans().map(({ attributes }) => attributes['rerunsafe.key'])).toEqual([undefined, key, undefined]);
  });
});

describe('a sandbox that is frozen when the handler returns', () => {
  it('has sent the span of the run and its measurements, where the handler flushes around the guard', async () => {
    const sent = new InMemorySpanExporter();
    // As in production: by itself it would send them in some seconds.
    const batched = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(sent)] });
    instrumentation.setTracerProvider(batched);
    const options = { store: memoryStore(), operation: 'payments/charge', key: (event: { id: string }) => event.id };
    const guarded = idempotent(options, async () => 'receipt');
    const sentInside: number[] = [];
    const handler = async (event: { id: string }): Promise<unknown> => {
      try {
        return await guarded(event, lambdaContext());
      } finally {
        await Promise.allSettled([batched.forceFlush(), o.meterProvider.forceFlush()]);
        sentInside.push(sent.getFinishedSpans().length);
      }
    };
    expect([await handler({ id: 'k' }), await handler({ id: 'k' })]).toEqual(['receipt', 'receipt']);
    expect(sentInside).toEqual([1, 2]);
    expect(sent.getFinishedSpans().map(({ attributes }) => attributes['rerunsafe.outcome'])).toEqual(['completed', 'replayed']);
    await batched.shutdown();
  });
});

describe('the other spans', () => {
  it('a step has one where its work is done, with how it ended; none where it was kept', async () => {
    const b = bench();
    await b
      .run(async (run) => {
        await run.step('charge', () => 1);
        await run.step('ship', () => Promise.reject(new Error('mine')));
      })
      .catch(ignore);
    await b.run(async (run) => {
      await run.step('charge', () => 1);
      await run.step('ship', () => 2);
    });
    const told = o.spans().filter(({ name }) => name.startsWith('step '));
    expect(told.map(({ name, attributes }) => [name, attributes['rerunsafe.outcome'], attributes['error.type']])).toEqual([
      ['step charge', 'done', undefined],
      ['step ship', 'failed', 'Error'],
      ['step ship', 'done', undefined],
    ]);
    expect(told[0]?.attributes).toMatchObject({ 'rerunsafe.operation': 'test/op', 'rerunsafe.step.name': 'charge' });
  });

  it('a lease around work has one, the parent of the work; its events are on it', async () => {
    const leases = storeLeases(memoryStore());
    const tracer = o.tracerProvider.getTracer('user');
    await withLease(leases, 'nightly', {}, async (lease) => {
      await lease.renew();
      tracer.startSpan('the job').end();
      await withLease(leases, 'nightly', {}, ignore);
    });
    const [skipped, done] = named('lease');
    expect(done && eventsOf(done)).toEqual(['rerunsafe.lease.acquired', 'rerunsafe.lease.renewed', 'rerunsafe.lease.released']);
    expect(done?.attributes).toEqual({
      'rerunsafe.lease.name': 'nightly',
      'rerunsafe.lease.provider': leases.name,
      'rerunsafe.token': expect.any(Number),
      'rerunsafe.outcome': 'done',
    });
    expect(skipped?.attributes['rerunsafe.outcome']).toBe('held');
    expect([skipped, named('the job')[0]].map((span) => span?.parentSpanContext?.spanId)).toEqual([
      done?.spanContext().spanId,
      done?.spanContext().spanId,
    ]);
    await withLease(leases, 'nightly', {}, () => Promise.reject(new Error('mine'))).catch(ignore);
    expect(named('lease')[2]).toMatchObject({ attributes: { 'rerunsafe.outcome': 'failed' }, status: { code: SpanStatusCode.ERROR } });
  });

  it('I11 a run in a transaction of SQLite has one like any other: the first, its replay, and one that rolls back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-otel-'));
    const store = sqliteStore({ path: join(folder, 'rerunsafe.db') });
    try {
      await store.setUp();
      const tracer = o.tracerProvider.getTracer('user');
      const work = (): number => {
        tracer.startSpan('in the transaction').end();
        return 1;
      };
      await runInTransaction({ store, operation: 'orders/take', key: 'k' }, work);
      await runInTransaction({ store, operation: 'orders/take', key: 'k' }, work);
      await runInTransaction({ store, operation: 'orders/take', key: 'throws' }, () => {
        throw new Error('mine');
      }).catch(ignore);
    } finally {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
    const runs = named('run orders/take');
    expect(runs.map(({ attributes }) => attributes['rerunsafe.outcome'])).toEqual(['completed', 'replayed', 'released']);
    expect(runs[0]?.attributes).toMatchObject({ 'rerunsafe.store': 'sqlite', 'rerunsafe.attempt': 1 });
    expect(named('in the transaction').map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([runs[0]?.spanContext().spanId]);
  });
});
