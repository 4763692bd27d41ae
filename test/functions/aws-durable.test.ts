import { type DurableContext, type DurableExecutionClient, withDurableExecution } from '@aws/durable-execution-sdk-js';
import type { Context, SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type HttpEvent, idempotent, idempotentEach, idempotentHttp, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { runOnce, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { httpApiEvent, lambdaContext, sqsEvent } from '../support/aws-events.ts';

const context = lambdaContext();
const ARN = 'arn:aws:lambda:eu-west-1:123456789012:function:orders:1/durable-execution/order-1/run-1';

type Update = Parameters<DurableExecutionClient['checkpoint']>[0]['Updates'];
type Invoked = { readonly Status: string; readonly Result?: string; readonly Error?: { readonly ErrorMessage?: string } };

/** The service's side: it takes every checkpoint, and never hands one back, as if each had been lost. */
function durableService() {
  const updates: NonNullable<Update>[number][] = [];
  const client: DurableExecutionClient = {
    checkpoint: async ({ Updates = [] }) => {
      updates.push(...Updates);
      return { CheckpointToken: `t${updates.length}`, NewExecutionState: { Operations: [] } };
    },
    getExecutionState: async () => ({ Operations: [] }),
  };
  const started = (payload: unknown) => ({
    Id: 'e',
    Type: 'EXECUTION',
    Status: 'STARTED',
    StartTimestamp: new Date(),
    ExecutionDetails: { InputPayload: JSON.stringify(payload) },
  });
  const inputFor = (payload: unknown) => ({
    DurableExecutionArn: ARN,
    CheckpointToken: 't0',
    InitialExecutionState: { Operations: [started(payload)] },
  });
  return { client, inputFor, updates };
}

type Wrapped = (event: never, context: never) => Promise<unknown>;

/** The four wrappers around one piece of work, each with an event of its own kind. */
function wrappers(work: () => unknown, store = memoryStore()): readonly [name: string, event: unknown, handler: Wrapped][] {
  const one = { store, operation: 'o', key: () => 'k' };
  return [
    ['idempotent', { orderId: 'o1' }, idempotent(one, work)],
    ['idempotentEach', sqsEvent({ body: 'a' }), idempotentEach(one, work)],
    [
      'idempotentHttp',
      httpApiEvent({ headers: { 'Idempotency-Key': '"k"' } }),
      idempotentHttp({ store, operation: 'h', scope: 'public' }, async (_event: HttpEvent) => {
        work();
        return { statusCode: 200, body: '' };
      }),
    ],
    ['singleton', {}, singleton({ leases: storeLeases(store), name: 's', slot: false }, work)],
  ];
}

const names = wrappers(() => {}).map(([name]) => name);
const pick = (name: string, work: () => unknown, store = memoryStore()) =>
  wrappers(work, store).find(([found]) => found === name) as [string, unknown, Wrapped];
async function recordsOf(store: ReturnType<typeof memoryStore>): Promise<number> {
  let records = 0;
  for await (const _ of store.list({})) records += 1;
  return records;
}

describe('durable executions', () => {
  it.each(names)('I8 %s inside of one is refused before anything runs', async (name) => {
    let runs = 0;
    const store = memoryStore();
    const [, event, handler] = pick(name, () => ++runs, store);
    const { client, inputFor } = durableService();
    const durable = withDurableExecution(handler as never, { durableExecutionClient: client });
    const answer = (await durable(inputFor(event) as never, context)) as Invoked;
    expect(answer).toMatchObject({ Status: 'FAILED', Error: { ErrorMessage: expect.stringContaining('use context.step') } });
    expect([runs, await recordsOf(store)]).toEqual([0, 0]);
  });

  it.each(names)('I8 %s inside of a child context of one is refused before anything runs', async (name) => {
    let runs = 0;
    const [, event, handler] = pick(name, () => ++runs);
    const { client, inputFor } = durableService();
    let refused: unknown;
    const durable = withDurableExecution(
      (_: unknown, outer: DurableContext) =>
        outer.runInChildContext(async (child) => {
          refused = await handler(event as never, child as never).catch((error: unknown) => error);
        }),
      { durableExecutionClient: client },
    );
    await durable(inputFor(event) as never, context);
    expect([runs, refused]).toMatchObject([0, { code: 'INVALID_OPTIONS' }]);
  });

  it('I8 the context of an SDK that does not mark its contexts is known by its methods', async () => {
    const { client, inputFor } = durableService();
    const [, event, handler] = pick('idempotent', () => 'ran');
    let refused: unknown;
    const durable = withDurableExecution(
      async (_: unknown, given: DurableContext) => {
        const unmarked = new Proxy(given, { get: (target, name) => (typeof name === 'symbol' ? undefined : Reflect.get(target, name)) });
        refused = await handler(event as never, unmarked as never).catch((error: unknown) => error);
      },
      { durableExecutionClient: client },
    );
    await durable(inputFor(event) as never, context);
    expect(refused).toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it.each(names)('I8 %s around one is refused before anything runs', async (name) => {
    let runs = 0;
    const store = memoryStore();
    const { client, inputFor } = durableService();
    const durable = withDurableExecution(async () => ++runs, { durableExecutionClient: client });
    const [, event] = pick(name, () => {}, store);
    const one = { store, operation: 'o', key: () => 'k' };
    const around: Record<string, Wrapped> = {
      idempotent: idempotent(one, durable as never),
      idempotentEach: idempotentEach(one, durable as never) as Wrapped,
      idempotentHttp: idempotentHttp({ store, operation: 'h', scope: 'public' }, durable as never) as Wrapped,
      singleton: singleton({ leases: storeLeases(store), name: 's' }, durable as never),
    };
    await expect(around[name]?.(inputFor(event) as never, context as never)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('context.step'),
    });
    expect([runs, await recordsOf(store)]).toEqual([0, 0]);
  });

  const lookalikes: readonly [string, object, Partial<Record<string, unknown>>][] = [
    ['a context with a step of its own', {}, { step: 3 }],
    ['a context with a step function and a Lambda context', {}, { step: () => {}, lambdaContext: context }],
    ['a context with a step function and no Lambda context', {}, { step: () => {}, lambdaContext: null }],
    ['an event with a step', { step: () => {}, lambdaContext: {} }, {}],
    ["an event that tells of somebody's durable execution", { DurableExecutionArn: ARN }, {}],
    ['a request to the checkpoint API', { DurableExecutionArn: ARN, CheckpointToken: 't', Updates: [] }, {}],
  ];
  it.each(lookalikes)('%s is not taken for one', async (_, fields, more) => {
    for (const name of names) {
      let runs = 0;
      const [, event, handler] = pick(name, () => ++runs);
      await handler({ ...(event as SQSEvent), ...fields } as never, { ...context, ...more } as never);
      expect([name, runs]).toEqual([name, 1]);
    }
  });

  it('no context and no event are not taken for one', async () => {
    let runs = 0;
    const handler = idempotent({ store: memoryStore(), operation: 'o', key: () => 'k' }, () => ++runs);
    expect(await handler(undefined as never, undefined as unknown as Context)).toBe(1);
    expect(await handler(null as never, null as unknown as Context)).toBe(1);
  });

  it('I1 I3 runOnce inside a step runs once, also when the step runs again because its checkpoint was lost', async () => {
    const store = memoryStore();
    let charged = 0;
    const service = durableService();
    const durable = withDurableExecution(
      async ({ orderId }: { orderId: string }, given: DurableContext) =>
        given.step('charge', () => runOnce({ store, operation: 'payments/charge', key: orderId }, async () => ({ charge: ++charged }))),
      { durableExecutionClient: service.client },
    );
    const answers: Invoked[] = [];
    for (let again = 0; again < 3; again++) answers.push((await durable(service.inputFor({ orderId: 'o1' }) as never, context)) as Invoked);
    expect(answers).toEqual(Array(3).fill({ Status: 'SUCCEEDED', Result: '{"charge":1}' }));
    expect(charged).toBe(1);
  });

  it('I1 a handler guarded by idempotent may be called inside a step, with the Lambda context', async () => {
    let shipped = 0;
    const ship = idempotent({ store: memoryStore(), operation: 'o', key: (event: { orderId: string }) => event.orderId }, () => ++shipped);
    const service = durableService();
    const durable = withDurableExecution(
      async (event: { orderId: string }, given: DurableContext) => given.step('ship', () => ship(event, given.lambdaContext)),
      { durableExecutionClient: service.client },
    );
    for (let again = 0; again < 2; again++) {
      expect(await durable(service.inputFor({ orderId: 'o1' }) as never, context)).toEqual({ Status: 'SUCCEEDED', Result: '1' });
    }
    expect(service.updates.length).toBeGreaterThan(0);
  });
});
