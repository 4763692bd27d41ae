/**
 * How the middleware fits middy: its types, most of which the compiler checks, and its other modes of execution.
 */
import { Readable, Writable } from 'node:stream';
import middy from '@middy/core';
import { executionModeDurableContext } from '@middy/core/DurableContext';
import { executionModeStreamifyResponse } from '@middy/core/StreamifyResponse';
import type { ALBEvent, APIGatewayProxyEventV2, APIGatewayProxyEventV2WithIAMAuthorizer, Context, ScheduledEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { idempotent, idempotentHttp, type MiddyMiddleware, middyMiddleware, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { type Lease, type RecordStore, type Run, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { httpApiEvent, lambdaContext } from '../support/aws-events.ts';

interface Order {
  readonly orderId: string;
}
const store = memoryStore();
const one = { store, operation: 'o', key: (event: Order) => event.orderId };
const http = { store, operation: 'h' } as const;

const event = middyMiddleware((handler) => idempotent(one, handler));
const scoped = middyMiddleware((handler) =>
  idempotentHttp({ ...http, scope: (given: APIGatewayProxyEventV2WithIAMAuthorizer) => given.requestContext.authorizer.iam.userArn }, handler),
);
const balanced = middyMiddleware((handler) => idempotentHttp<ALBEvent>({ ...http, scope: 'public' }, handler));
const nightly = middyMiddleware((handler) => singleton<ScheduledEvent>({ leases: storeLeases(store), name: 'n' }, handler));

/** For the compiler alone. */
function typed(): void {
  expectTypeOf(event).toEqualTypeOf<MiddyMiddleware<Order>>();
  expectTypeOf(scoped).toEqualTypeOf<MiddyMiddleware<APIGatewayProxyEventV2WithIAMAuthorizer>>();
  expectTypeOf(event.runOf).returns.toEqualTypeOf<Run>();
  expectTypeOf(nightly.leaseOf).returns.toEqualTypeOf<Lease>();
  const asTheirs: middy.MiddlewareObj<Order> = event;
  middy()
    .use(event)
    .handler(async (given, context) => {
      expectTypeOf(given).toExtend<Order>();
      expectTypeOf(context).toExtend<Context>();
    });
  middy<Order>().use([asTheirs, event]).use(event).before(event.before).after(event.after).onError(event.onError);
  middy()
    .use(balanced)
    .handler(async (given) => ({ statusCode: 200, body: given.path }));
  middy()
    .use(nightly)
    .handler(async (given) => given.time);
  // @ts-expect-error: a streaming handler answers through its stream.
  middyMiddleware((handler) => idempotentHttp({ ...http, scope: 'public', streams: 'pass' }, handler));
}

describe('the types of middy', () => {
  it('are met without importing middy', () => {
    expect([typed, event.before, event.after, event.onError].every((given) => typeof given === 'function')).toBe(true);
  });

  it('middy takes it by use, in a list, and hook by hook', async () => {
    const guard = middyMiddleware((handler) => idempotent({ ...one, store: memoryStore() }, handler));
    let runs = 0;
    const handler = middy<Order>()
      .before(guard.before)
      .after(guard.after)
      .onError(guard.onError)
      .handler(async () => ++runs);
    expect([await handler({ orderId: 'o1' }, lambdaContext()), await handler({ orderId: 'o1' }, lambdaContext())]).toEqual([1, 1]);
  });
});

describe("middy's mode for durable executions", () => {
  it('I8 is refused before anything runs, as the wrapper and as the middleware', async () => {
    let runs = 0;
    const records = memoryStore();
    const work = async () => ++runs;
    const handlers = [
      middy<Order>({ executionMode: executionModeDurableContext }).handler(idempotent({ ...one, store: records }, work)),
      middy({ executionMode: executionModeDurableContext })
        .use(middyMiddleware((handler) => idempotent({ ...one, store: records }, handler)))
        .handler(work),
    ];
    for (const handler of handlers) {
      const input = {
        DurableExecutionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:orders:1/durable-execution/order-1/run-1',
        CheckpointToken: 't0',
        InitialExecutionState: {
          Operations: [
            { Id: 'e', Type: 'EXECUTION', Status: 'STARTED', StartTimestamp: new Date(), ExecutionDetails: { InputPayload: '{"orderId":"o1"}' } },
          ],
        },
      };
      expect(await handler(input as never, lambdaContext())).toMatchObject({
        Status: 'FAILED',
        Error: { ErrorMessage: expect.stringContaining('use context.step') },
      });
    }
    expect([runs, await count(records)]).toEqual([0, 0]);
  });
});

describe("middy's mode for streamed responses", () => {
  interface Prelude {
    readonly statusCode: number;
    readonly headers?: Readonly<Record<string, string>>;
  }
  /** What a client gets, by what the platform gives to handlers of its kind. */
  class Sink extends Writable {
    prelude: Prelude | undefined;
    text = '';
    override _write(chunk: Buffer, _encoding: string, done: () => void): void {
      this.text += chunk.toString();
      done();
    }
  }
  beforeAll(() => {
    const HttpResponseStream = { from: (sink: Sink, prelude: Prelude) => Object.assign(sink, { prelude }) };
    Object.assign(globalThis, { awslambda: { streamifyResponse: (handler: unknown) => handler, HttpResponseStream } });
  });
  afterAll(() => {
    delete (globalThis as { awslambda?: unknown }).awslambda;
  });

  type Streamed = (event: APIGatewayProxyEventV2, sink: Sink, context: Context) => Promise<void>;
  const ends: readonly [string, (work: () => unknown, records: RecordStore) => unknown][] = [
    [
      'as the wrapper',
      (work, records) =>
        middy<APIGatewayProxyEventV2>({ executionMode: executionModeStreamifyResponse }).handler(
          idempotentHttp({ ...http, store: records, scope: 'public' }, async () => work()),
        ),
    ],
    [
      'as the middleware',
      (work, records) =>
        middy({ executionMode: executionModeStreamifyResponse })
          .use(middyMiddleware((handler) => idempotentHttp({ ...http, store: records, scope: 'public' }, handler)))
          .handler(async () => work()),
    ],
  ];

  it.each(ends)('I2 %s: an answer with a body of text is replayed through the stream', async (_, build) => {
    let runs = 0;
    const handler = build(() => ({ statusCode: 201, body: `charged ${++runs}` }), memoryStore()) as Streamed;
    const answers: (string | number | undefined)[][] = [];
    for (let again = 0; again < 2; again++) {
      const sink = new Sink();
      await handler(httpApiEvent({ headers: { 'Idempotency-Key': '"k"' } }), sink, lambdaContext());
      answers.push([sink.prelude?.statusCode, sink.text, sink.prelude?.headers?.['Idempotent-Replayed']]);
    }
    expect(answers).toEqual([
      [201, 'charged 1', undefined],
      [201, 'charged 1', 'true'],
    ]);
  });

  it.each(ends)('I8 %s: an answer with a stream for a body is refused and said, and the work does not run again', async (_, build) => {
    let runs = 0;
    const handler = build(() => ({ statusCode: 201, body: Readable.from([`charged ${++runs}`]) }), memoryStore()) as Streamed;
    const event = httpApiEvent({ headers: { 'Idempotency-Key': '"k"' } });
    await expect(handler(event, new Sink(), lambdaContext())).rejects.toThrow('body must be a string');
    const sink = new Sink();
    await handler(event, sink, lambdaContext());
    expect([sink.prelude?.statusCode, sink.text, runs]).toEqual([409, expect.stringContaining('RESULT_NOT_STORED'), 1]);
  });
});

async function count(records: RecordStore): Promise<number> {
  let found = 0;
  for await (const _ of records.list({})) found += 1;
  return found;
}
