/**
 * The logger and the tracer of Powertools, inside and outside of what is guarded. What the tracer sends goes to a daemon of the test's own.
 */
import { createSocket } from 'node:dgram';
import { existsSync, rmSync } from 'node:fs';
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idempotent, idempotentEach, idempotentHttp, middyMiddleware, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { lambdaContext } from '../support/aws-events.ts';

interface Document {
  readonly name: string;
  readonly in_progress?: boolean;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const traced: Document[] = [];
const daemon = createSocket('udp4', (message) => void traced.push(JSON.parse(message.toString().split('\n')[1] ?? '') as Document));
await new Promise<void>((resolve) => daemon.bind(0, '127.0.0.1', resolve));

// Both read their environment when they are loaded.
const SDK_MARK = '/tmp/.aws-xray';
const hadMark = existsSync(SDK_MARK);
Object.assign(process.env, {
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_XRAY_DAEMON_ADDRESS: `127.0.0.1:${daemon.address().port}`,
  LAMBDA_TASK_ROOT: '/var/task',
  POWERTOOLS_DEV: 'true',
  POWERTOOLS_TRACER_CAPTURE_HTTPS_REQUESTS: 'false',
  _HANDLER: 'index.ship',
  _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1',
});
const { Logger } = await import('@aws-lambda-powertools/logger');
const { injectLambdaContext } = await import('@aws-lambda-powertools/logger/middleware');
const { Tracer } = await import('@aws-lambda-powertools/tracer');
const { captureLambdaHandler } = await import('@aws-lambda-powertools/tracer/middleware');
const tracer = new Tracer({ serviceName: 'orders' });
const facade = tracer.getSegment();

afterAll(async () => {
  await new Promise<void>((resolve) => daemon.close(() => resolve()));
  if (!hadMark) rmSync(SDK_MARK, { recursive: true, force: true });
});

const order = { orderId: 'o1' };
type Order = typeof order;
type Guarded = (event: Order, context: Context) => Promise<unknown>;
const options = () => ({ store: memoryStore(), operation: 'orders/ship', key: (event: Order) => event.orderId });

type Line = Readonly<Record<string, unknown>>;
let lines: Line[] = [];
beforeEach(() => {
  lines = [];
  traced.length = 0;
  vi.spyOn(console, 'info').mockImplementation((line) => void lines.push(JSON.parse(String(line)) as Line));
});
afterEach(() => vi.restoreAllMocks());

/** What a decorator of the language does to a method. */
function decorated<H extends Guarded>(decorate: (...parameters: never[]) => unknown, method: H): H {
  const descriptor: TypedPropertyDescriptor<H> = { value: method, writable: true, configurable: true };
  decorate(...([{}, 'handler', descriptor] as never[]));
  return descriptor.value as H;
}

describe('the name of a wrapped handler', () => {
  it('is that of the handler, and two parameters are declared, whatever wraps it', () => {
    const store = memoryStore();
    async function shipOrder() {}
    const wrapped = [
      idempotent(options(), shipOrder),
      idempotentHttp({ store, operation: 'h', scope: 'public' }, shipOrder as never),
      idempotentEach({ store, operation: 'e', key: () => 'k' }, shipOrder),
      singleton({ leases: storeLeases(store), name: 's' }, shipOrder),
    ];
    expect(wrapped.map(({ name, length }) => [name, length])).toEqual(Array(4).fill(['shipOrder', 2]));
    expect(idempotent(options(), () => {}).name).toBe('');
  });
});

describe('the logger', () => {
  const ends: readonly [string, (work: (event: Order) => unknown, logger: InstanceType<typeof Logger>) => Guarded][] = [
    [
      'as a middleware, the wrapper inside',
      (work, logger) =>
        middy<Order>()
          .use(injectLambdaContext(logger, { resetKeys: true }))
          .before(({ event }) => logger.appendKeys({ order: event.orderId }))
          .handler(idempotent(options(), async (event) => work(event))),
    ],
    [
      'as a middleware, before ours',
      (work, logger) =>
        middy<Order>()
          .use(injectLambdaContext(logger, { resetKeys: true }))
          .before(({ event }) => logger.appendKeys({ order: event.orderId }))
          .use(middyMiddleware((handler) => idempotent(options(), handler)))
          .handler(async (event) => work(event)),
    ],
    [
      'as a middleware, after ours',
      (work, logger) =>
        middy<Order>()
          .use(middyMiddleware((handler) => idempotent(options(), handler)))
          .use(injectLambdaContext(logger, { resetKeys: true }))
          .before(({ event }) => logger.appendKeys({ order: event.orderId }))
          .handler(async (event) => work(event)),
    ],
    [
      'as a decorator around the wrapper',
      (work, logger) => {
        const guarded = idempotent(options(), async (event) => work(event));
        return decorated(logger.injectLambdaContext({ resetKeys: true }), async (event: Order, context: Context) => {
          logger.appendKeys({ order: event.orderId });
          return guarded(event, context);
        });
      },
    ],
    [
      'as a decorator inside the wrapper',
      (work, logger) => {
        const inner = decorated(logger.injectLambdaContext({ resetKeys: true }), async (event: Order, _context: Context) => {
          logger.appendKeys({ order: event.orderId });
          return work(event);
        });
        return idempotent(options(), (event, context) => inner(event, context));
      },
    ],
  ];

  it.each(ends)('I12 %s: knows the invocation in the work, and keeps no keys for the next one, be it a replay or not', async (_, build) => {
    const logger = new Logger({ serviceName: 'orders' });
    let runs = 0;
    const handler = build((event) => {
      runs += 1;
      logger.info('at work');
      if (event.orderId === 'bad') throw new Error('bad');
      return { shipped: event.orderId };
    }, logger);

    const context = lambdaContext();
    expect(await handler(order, context)).toEqual({ shipped: 'o1' });
    expect(lines).toMatchObject([{ function_name: 'orders', function_request_id: context.awsRequestId, order: 'o1', message: 'at work' }]);
    expect(logger.getPersistentLogAttributes()).not.toHaveProperty('order');
    logger.info('between');
    expect(await handler(order, lambdaContext())).toEqual({ shipped: 'o1' });
    logger.info('after the replay');
    await expect(handler({ orderId: 'bad' }, lambdaContext())).rejects.toThrow('bad');
    logger.info('after the failure');
    expect(lines.map(({ message, order }) => [message, order])).toEqual([
      ['at work', 'o1'],
      ['between', undefined],
      ['after the replay', undefined],
      ['at work', 'bad'],
      ['after the failure', undefined],
    ]);
    expect(runs).toBe(2);
  });
});

describe('the tracer', () => {
  /** As in an invocation: the facade of the platform's own segment is what stands at the start. */
  const invoke = <R>(call: () => Promise<R>): Promise<R> =>
    tracer.provider.getNamespace().runPromise(async () => {
      tracer.setSegment(facade as never);
      try {
        return await call();
      } finally {
        expect(tracer.getSegment()).toBe(facade);
      }
    }) as Promise<R>;

  const ends: readonly [string, (work: () => unknown) => Guarded][] = [
    [
      'as a middleware, the wrapper inside',
      (work) =>
        middy<Order>()
          .use(captureLambdaHandler(tracer))
          .handler(idempotent(options(), async () => work())),
    ],
    [
      'as a middleware, before ours',
      (work) =>
        middy<Order>()
          .use(captureLambdaHandler(tracer))
          .use(middyMiddleware((handler) => idempotent(options(), handler)))
          .handler(async () => work()),
    ],
    [
      'as a decorator around the wrapper',
      (work) =>
        decorated(
          tracer.captureLambdaHandler(),
          idempotent(options(), async () => work()),
        ),
    ],
  ];

  it.each(ends)('I12 %s: the segment of the handler is closed and sent, of a first run, a replay and a failure', async (_, build) => {
    expect(tracer.isTracingEnabled()).toBe(true);
    let fails = false;
    const handler = build(() => {
      tracer.putAnnotation('atWork', true);
      if (fails) throw new Error('bad');
      return { shipped: true };
    });
    const sent = (count: number) => vi.waitFor(() => expect(traced).toHaveLength(count));
    expect(await invoke(() => handler(order, lambdaContext()))).toEqual({ shipped: true });
    await sent(1);
    expect(await invoke(() => handler(order, lambdaContext()))).toEqual({ shipped: true });
    await sent(2);
    fails = true;
    await expect(invoke(() => handler({ orderId: 'o2' }, lambdaContext()))).rejects.toThrow('bad');
    await sent(3);
    expect(traced.map(({ name, in_progress, annotations }) => [name, in_progress, annotations?.atWork])).toEqual([
      ['## index.ship', undefined, true],
      ['## index.ship', undefined, undefined],
      ['## index.ship', undefined, true],
    ]);
    expect(traced[0]?.metadata).toEqual({ orders: { 'index.ship response': { shipped: true } } });
  });

  it.each(ends)('I2 %s: switched off, nothing is sent, and replays are replays', async (_, build) => {
    const off = vi.spyOn(tracer, 'isTracingEnabled').mockReturnValue(false);
    let runs = 0;
    const handler = build(() => ++runs);
    expect([await handler(order, lambdaContext()), await handler(order, lambdaContext())]).toEqual([1, 1]);
    expect([off.mock.calls.length > 0, traced]).toEqual([true, []]);
  });

  it('a method that is captured by the name of its wrapped handler shows that name', async () => {
    const guarded = idempotent(options(), async function shipOrder() {
      return 'shipped';
    });
    const captured = decorated(tracer.captureMethod({ subSegmentName: `### ${guarded.name}` }), guarded);
    expect(await invoke(() => captured(order, lambdaContext()))).toBe('shipped');
    await vi.waitFor(() => expect(traced.map(({ name }) => name)).toEqual(['### shipOrder']));
  });
});
