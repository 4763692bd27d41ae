import middy from '@middy/core';
import type { APIGatewayProxyEventV2, Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotent, idempotentEach, idempotentHttp, middyMiddleware, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { type RecordStore, type Run, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, httpApiEvent, lambdaContext, sqsEvent } from '../support/aws-events.ts';

interface Order {
  readonly orderId: string;
}
const order: Order = { orderId: 'o1' };
const context = (): Context => lambdaContext();
const options = (store: RecordStore = memoryStore()) => ({ store, operation: 'orders/ship', key: (event: Order) => event.orderId });
const guardOf = (store?: RecordStore) => middyMiddleware((handler) => idempotent(options(store), handler));
const post = (key: string, body = '{"amount":1}') =>
  httpApiEvent({ headers: { 'Idempotency-Key': `"${key}"`, 'Content-Type': 'application/json' }, body });

/** As `@middy/http-json-body-parser` does: the very event is changed. */
const parser = {
  before: ({ event }: { event: { body?: unknown } }) => {
    event.body = JSON.parse(event.body as string);
  },
};
const stamp = {
  after: (request: { response: unknown }) => {
    request.response = { ...(request.response as object), stamped: true };
  },
};

describe('the wrapper around the handler, inside middy', () => {
  it('I1 I2 a replay goes through the other middlewares as the first answer did', async () => {
    let runs = 0;
    const handler = middy<Order>()
      .use(stamp)
      .handler(idempotent(options(), () => ({ run: ++runs })));
    expect(await handler(order, context())).toEqual({ run: 1, stamped: true });
    expect(await handler(order, context())).toEqual({ run: 1, stamped: true });
  });

  it('I9 http: a body that a parser has changed before is compared all the same', async () => {
    const handler = middy<APIGatewayProxyEventV2>()
      .use(parser)
      .handler(idempotentHttp({ ...http(), scope: 'public' }, async ({ body }) => ({ statusCode: 201, body: JSON.stringify(body) })));
    const answers = [await handler(post('a'), context()), await handler(post('a', '{ "amount": 1 }'), context())];
    expect(answers).toMatchObject([{ body: '{"amount":1}' }, { body: '{"amount":1}', headers: { 'Idempotent-Replayed': 'true' } }]);
    expect(await handler(post('a', '{"amount":2}'), context())).toMatchObject({ statusCode: 422 });
  });

  it('I1 idempotentEach answers for its batch', async () => {
    const taken: string[] = [];
    const consume = idempotentEach({ store: memoryStore(), operation: 'o', key: ({ body }) => body, onItemFailed: () => {} }, ({ body }) => {
      if (body === 'bad') throw new Error(body);
      taken.push(body);
    });
    const handler = middy<SQSEvent>().handler(consume);
    const event = sqsEvent({ body: 'good' }, { body: 'bad' });
    for (let again = 0; again < 2; again++) expect(await handler(event, context())).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
    expect(taken).toEqual(['good']);
  });
});

describe('a middleware of middy', () => {
  it('I1 I2 the work runs once, and every caller gets the same value', async () => {
    let runs = 0;
    const handler = middy()
      .use(guardOf())
      .handler(async (event) => ({ run: ++runs, order: event.orderId, at: new Date(0) }));
    const first = await handler(order, context());
    expect(first).toEqual({ run: 1, order: 'o1', at: new Date(0) });
    expect(await handler(order, context())).toEqual(first);
    expect(await handler({ orderId: 'o2' }, context())).toMatchObject({ run: 2 });
  });

  it.each([undefined, null, 0, ''])('I2 a replay of %j is that very value, and the work does not run again', async (value) => {
    let runs = 0;
    const handler = middy()
      .use(guardOf())
      .handler(async () => {
        runs += 1;
        return value;
      });
    expect([await handler(order, context()), await handler(order, context()), runs]).toEqual([value, value, 1]);
  });

  it('a handler that is not async is guarded as well', async () => {
    let runs = 0;
    const handler = middy()
      .use(guardOf())
      .handler(() => ++runs as never);
    expect([await handler(order, context()), await handler(order, context())]).toEqual([1, 1]);
  });

  it('I2 I9 http: a replay says so, and another payload is refused', async () => {
    const guard = middyMiddleware((handler) => idempotentHttp<APIGatewayProxyEventV2>({ ...http(), scope: 'public' }, handler));
    let runs = 0;
    const handler = middy()
      .use(guard)
      .handler(async (event) => ({ statusCode: 201, body: `${event.rawPath} ${++runs}` }));
    expect(await handler(post('a'), context())).toEqual({ statusCode: 201, body: '/charges 1' });
    expect(await handler(post('a'), context())).toMatchObject({ statusCode: 201, body: '/charges 1', headers: { 'Idempotent-Replayed': 'true' } });
    expect(await handler(post('a', '{"amount":2}'), context())).toMatchObject({ statusCode: 422 });
    expect(await handler(httpApiEvent(), context())).toMatchObject({ statusCode: 400 });
    expect(runs).toBe(1);
  });

  it('I9 a middleware that changes the event, before the handler, changes neither key nor fingerprint', async () => {
    const guard = middyMiddleware((handler) => idempotentHttp({ ...http(), scope: 'public' }, handler));
    const bodies: unknown[] = [];
    const handler = middy<APIGatewayProxyEventV2>()
      .use(guard)
      .use(parser)
      .before(({ event }) => {
        event.headers['idempotency-key'] = '"changed"';
      })
      .handler(async (event) => {
        bodies.push(event.body);
        return { statusCode: 201, body: 'ok' };
      });
    await handler(post('a'), context());
    expect(await handler(post('a'), context())).toMatchObject({ headers: { 'Idempotent-Replayed': 'true' } });
    expect(await handler(post('changed'), context())).toMatchObject({ statusCode: 201 });
    expect(await handler(post('a', '{"amount":2}'), context())).toMatchObject({ statusCode: 422 });
    expect(bodies).toEqual([{ amount: 1 }, { amount: 1 }]);
  });

  it('I2 what is recorded is the answer before the middlewares outside have put their hand to it', async () => {
    const store = memoryStore();
    const handler = middy()
      .use(stamp)
      .use(guardOf(store))
      .handler(async () => ({ done: true }));
    expect(await handler(order, context())).toEqual({ done: true, stamped: true });
    // Middy skips every `after` when an answer comes early.
    expect(await handler(order, context())).toEqual({ done: true });
  });

  it('I9 an input that is no object: the key is taken of it all the same', async () => {
    let runs = 0;
    const guard = middyMiddleware((handler) => idempotent({ ...options(), key: (event: string) => event }, handler));
    const handler = middy()
      .use(guard)
      .handler(async () => ++runs);
    expect([await handler('a', context()), await handler('a', context()), await handler('b', context())]).toEqual([1, 1, 2]);
  });
});

describe('the run in a handler of middy', () => {
  it('I2 runOf gives the run: the same derived key in the attempt after a failed one', async () => {
    const guard = guardOf();
    const seen: [number, string][] = [];
    const handler = middy()
      .use(guard)
      .handler(async (_event, given) => {
        const run: Run = guard.runOf(given);
        run.assertHeld();
        seen.push([run.attempt, run.keyFor('ship')]);
        if (run.attempt === 1) throw new Error('once');
        return run.step('label', () => 'printed');
      });
    await expect(handler(order, context())).rejects.toThrow('once');
    expect(await handler(order, context())).toBe('printed');
    expect(seen.map(([attempt]) => attempt)).toEqual([1, 2]);
    expect(seen[0]?.[1]).toBe(seen[1]?.[1]);
  });

  it('I2 a work that has committed and then throws answers with what was committed', async () => {
    for (const value of ['committed', undefined]) {
      const store = memoryStore();
      const guard = guardOf(store);
      const handler = middy()
        .use(guard)
        .handler(async (_event, given) => {
          await guard
            .runOf(given)
            .commit(value, ({ id, record, version }) => (version === undefined ? store.create(id, record) : store.replace(id, record, version)));
          throw new Error('too late to matter');
        });
      expect([await handler(order, context()), await handler(order, context())]).toEqual([value, value]);
    }
  });

  it('leaseOf gives the lease of a singleton; a run that is skipped answers undefined, and the job does not run', async () => {
    const leases = storeLeases(memoryStore());
    const skipped: string[] = [];
    const guard = middyMiddleware((handler) =>
      singleton<unknown>({ leases, name: 'nightly', slot: false, onSkipped: ({ kind }) => skipped.push(kind) }, handler),
    );
    const inside = gate();
    const go = gate();
    const handler = middy()
      .use(guard)
      .handler(async (_event, given) => {
        inside.open();
        await go.opened;
        return guard.leaseOf(given).token;
      });
    const first = handler({}, context());
    await inside.opened;
    expect(await handler({}, context())).toBeUndefined();
    go.open();
    expect(await first).toEqual(expect.any(Number));
    expect(skipped).toEqual(['held']);
    expect(await handler({}, context())).toEqual(expect.any(Number));
  });

  it('invocations at once do not share state', async () => {
    const guard = guardOf();
    const handler = middy()
      .use(guard)
      .handler(async (event, given) => {
        await new Promise<void>((resolve) => setImmediate(resolve));
        return `${event.orderId} ${guard.runOf(given).key}`;
      });
    const ids = Array.from({ length: 30 }, (_, index) => `o${index}`);
    const answers = await Promise.all(ids.map((orderId) => handler({ orderId }, context())));
    expect(answers.map((answer) => answer.split(' ')[0])).toEqual(ids);
    expect(new Set(answers.map((answer) => answer.split(' ')[1])).size).toBe(ids.length);
  });

  it('a run of somebody else is never given: no context, a foreign one, one that two share, the wrong kind', async () => {
    const guard = guardOf();
    const inside = gate();
    const go = gate();
    const shared = context();
    const handler = middy()
      .use(guard)
      .handler(async (event, given) => {
        if (event.orderId === 'o1') {
          inside.open();
          await go.opened;
        }
        return guard.runOf(given).key;
      });
    const first = handler(order, shared);
    await inside.opened;
    await expect(handler({ orderId: 'o2' }, shared)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    go.open();
    await expect(first).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });

    const own = context();
    await handler({ orderId: 'o3' }, own);
    expect(guard.runOf(own).attempt).toBe(1);
    expect(() => guard.leaseOf(own)).toThrow('nothing of that kind');
    expect(() => guard.runOf(context())).toThrow('nothing of that kind');
  });
});

describe('misuse is said', () => {
  it('a batch wrapper cannot be a middleware: nothing runs', async () => {
    let runs = 0;
    const guard = middyMiddleware((handler) =>
      idempotentEach({ store: memoryStore(), operation: 'o', key: (record: SQSRecord) => record.body, onItemFailed: () => {} }, handler),
    );
    const handler = middy()
      .use(guard)
      .handler(async () => ++runs);
    for (const event of [sqsEvent({ body: 'a' }), sqsEvent({ body: 'a' }, { body: 'b' })]) {
      await expect(handler(event, context())).rejects.toThrow('put idempotentEach around the handler');
    }
    expect(runs).toBe(0);
  });

  it('options that are misspelt, and a first argument that wraps nothing, are refused when built', () => {
    expect(() => middyMiddleware((handler) => idempotent(options(), handler), { timeoutEarlyMillis: 5 } as never)).toThrow('is not an option');
    expect(() => middyMiddleware((handler) => idempotent({ ...options(), kye: 1 } as never, handler))).toThrow('kye is not an option');
    expect(() => middyMiddleware((() => undefined) as never)).toThrow('must return a wrapped handler');
  });
});

function http() {
  return { store: memoryStore(), operation: 'payments/charge' };
}
