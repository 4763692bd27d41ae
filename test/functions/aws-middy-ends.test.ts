import middy from '@middy/core';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotent, idempotentHttp, middyMiddleware } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError, type RecordStore, RerunSafeError, type StoredRecord } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, httpApiEvent, lambdaContext } from '../support/aws-events.ts';

interface Order {
  readonly orderId: string;
}
const order: Order = { orderId: 'o1' };
const context = (): Context => lambdaContext();
const options = (store: RecordStore = memoryStore()) => ({ store, operation: 'orders/ship', key: (event: Order) => event.orderId });
const guardOf = (store?: RecordStore) => middyMiddleware((handler) => idempotent(options(store), handler));

async function records(store: RecordStore): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for await (const { id } of store.list({})) found.push((await store.read(id))?.record as StoredRecord);
  return found;
}
const states = async (store: RecordStore) => (await records(store)).map(({ state }) => state);
/** What keeps the process alive; one of the test runner's own may end meanwhile. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('what a work throws', () => {
  it('goes through untouched, past the middlewares outside, and the next delivery runs again', async () => {
    for (const thrown of [new Error('boom'), { not: 'an Error' }, 'text', undefined]) {
      const seen: unknown[] = [];
      let runs = 0;
      const handler = middy()
        .use({ onError: ({ error }: { error: unknown }) => void seen.push(error) })
        .use(guardOf())
        .handler(async () => {
          runs += 1;
          if (runs === 1) throw thrown;
          return runs;
        });
      const caught = await handler(order, context()).catch((error: unknown) => ({ error }));
      expect([caught, seen]).toEqual([{ error: thrown }, [thrown]]);
      expect((caught as { error: unknown }).error).toBe(thrown);
      expect(await handler(order, context())).toBe(2);
    }
  });

  it('I2 a PermanentError is remembered and thrown again without the work', async () => {
    let runs = 0;
    const handler = middy()
      .use(guardOf())
      .handler(async () => {
        runs += 1;
        throw new PermanentError('declined', { code: 'card' });
      });
    for (let again = 0; again < 2; again++) {
      await expect(handler(order, context())).rejects.toMatchObject({ name: 'PermanentError', message: 'declined', code: 'card' });
    }
    expect(runs).toBe(1);
  });

  it('an error handler outside makes an answer of it; the record is released all the same', async () => {
    const store = memoryStore();
    const handler = middy()
      .use({
        onError: (request: { response?: unknown }) => {
          request.response = { statusCode: 500 };
        },
      })
      .use(guardOf(store))
      .handler(async () => {
        throw new Error('boom');
      });
    expect(await handler(order, context())).toEqual({ statusCode: 500 });
    expect(await states(store)).toEqual(['released']);
  });
});

describe('errors that are not of the work', () => {
  const boom = new Error('boom');
  const throwing = () => {
    throw boom;
  };

  it('I6 a refusal by this middleware goes to the error handlers, and leaves the record of the first alone', async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const inside = gate();
    const go = gate();
    let runs = 0;
    const handler = middy()
      .use({ onError: ({ error }: { error: unknown }) => void seen.push(error) })
      .use(guardOf(store))
      .handler(async () => {
        runs += 1;
        inside.open();
        await go.opened;
        return 'shipped';
      });
    const first = handler(order, context());
    await inside.opened;
    await expect(handler(order, context())).rejects.toMatchObject({ code: 'IN_FLIGHT' });
    expect([await states(store), seen]).toMatchObject([['running'], [{ code: 'IN_FLIGHT' }]]);
    go.open();
    expect([await first, await handler(order, context()), runs]).toEqual(['shipped', 'shipped', 1]);
  });

  it('an error before this middleware: nothing is claimed', async () => {
    const store = memoryStore();
    const handler = middy()
      .before(throwing)
      .use(guardOf(store))
      .handler(async () => 'never');
    await expect(handler(order, context())).rejects.toBe(boom);
    expect(await states(store)).toEqual([]);
  });

  it('I3 an error after the outcome, of a middleware outside: the outcome stays', async () => {
    const store = memoryStore();
    let fails = true;
    const handler = middy()
      .after(() => {
        if (fails) throw boom;
      })
      .use(guardOf(store))
      .handler(async () => 'shipped');
    await expect(handler(order, context())).rejects.toBe(boom);
    expect(await states(store)).toEqual(['completed']);
    fails = false;
    expect(await handler(order, context())).toBe('shipped');
  });

  it.each(['before', 'after'] as const)("an error in the %s of a middleware inside counts as the work's own", async (hook) => {
    const store = memoryStore();
    const timersBefore = timers();
    const handler = middy()
      .use(guardOf(store))
      .use({ [hook]: throwing })
      .handler(async () => 'shipped');
    await expect(handler(order, context())).rejects.toBe(boom);
    expect([await states(store), Math.max(0, timers() - timersBefore)]).toEqual([['released'], 0]);
  });

  it('I2 an error handler inside makes an answer of it: that is the outcome', async () => {
    for (const early of [false, true]) {
      let runs = 0;
      const handler = middy()
        .use(guardOf())
        .use({
          onError: (request: { response?: unknown }) => {
            if (early) return 'sorry';
            request.response = 'sorry';
            return undefined;
          },
        })
        .handler(async () => {
          runs += 1;
          throw boom;
        });
      expect([await handler(order, context()), await handler(order, context()), runs]).toEqual(['sorry', 'sorry', 1]);
    }
  });
});

describe('a wrapper that ends before its work', () => {
  it('I12 what it throws is what the caller gets, and nobody is told of an unhandled rejection', async () => {
    const boom = new Error('boom');
    const guard = middyMiddleware((handler) => async (event: Order, given: Context) => {
      void handler(event, given, {});
      await new Promise<void>((resolve) => setImmediate(resolve));
      throw boom;
    });
    const handler = middy()
      .use(guard)
      .handler(async () => {
        await new Promise<void>((resolve) => setTimeout(resolve, 20));
        return 'shipped';
      });
    await expect(handler(order, context())).rejects.toBe(boom);
  });
});

describe('another middleware answers early', () => {
  it('I2 I12 inside, before the handler: its answer is the outcome, and nothing is left behind', async () => {
    for (const value of ['cached', undefined]) {
      const store = memoryStore();
      const timersBefore = timers();
      let runs = 0;
      const handler = middy()
        .use(guardOf(store))
        .before((request) => {
          request.earlyResponse = value;
        })
        .handler(async () => ++runs);
      expect([await handler(order, context()), await states(store), Math.max(0, timers() - timersBefore)]).toEqual([value, ['completed'], 0]);
      expect([await handler(order, context()), runs]).toEqual([value, 0]);
    }
  });

  it('I2 I3 inside, after the handler: its answer is the outcome, saved before the caller has it', async () => {
    const store = memoryStore();
    const handler = middy()
      .use(guardOf(store))
      .after(() => 'replaced')
      .handler(async () => 'shipped');
    expect([await handler(order, context()), await states(store)]).toEqual(['replaced', ['completed']]);
    expect(await handler(order, context())).toBe('replaced');
  });

  it('outside, before this middleware: nothing is claimed', async () => {
    const store = memoryStore();
    const handler = middy()
      .before(() => 'cached')
      .use(guardOf(store))
      .handler(async () => 'never');
    expect([await handler(order, context()), await states(store)]).toEqual(['cached', []]);
  });

  it('I3 outside, after the outcome: the outcome stays', async () => {
    const store = memoryStore();
    const handler = middy()
      .after(() => 'replaced')
      .use(guardOf(store))
      .handler(async () => 'shipped');
    expect([await handler(order, context()), await states(store)]).toEqual(['replaced', ['completed']]);
    expect(await handler(order, context())).toBe('shipped');
  });

  it('an early http answer of a middleware inside is judged as one of the handler: a 503 is not kept', async () => {
    const store = memoryStore();
    const guard = middyMiddleware((handler) => idempotentHttp({ store, operation: 'h', scope: 'public' }, handler));
    let down = true;
    const handler = middy<APIGatewayProxyEventV2>()
      .use(guard)
      .before(() => (down ? { statusCode: 503, body: 'down' } : undefined))
      .handler(async () => ({ statusCode: 201, body: 'charged' }));
    const event = httpApiEvent({ headers: { 'Idempotency-Key': '"k"' } });
    expect(await handler(event, context())).toEqual({ statusCode: 503, body: 'down' });
    expect(await states(store)).toEqual(['released']);
    down = false;
    expect(await handler(event, context())).toEqual({ statusCode: 201, body: 'charged' });
  });

  it('I2 what the wrapper throws at the outcome is thrown to the caller, though the answer came early', async () => {
    const memory = memoryStore();
    const store: RecordStore = { ...memory, replace: () => Promise.reject(new RerunSafeError('STORE_MISCONFIGURED', 'no such table')) };
    const guard = middyMiddleware((handler) => idempotent({ ...options(store), onSaveFailed: 'throw' }, handler));
    const early = middy()
      .use(guard)
      .before(() => 'cached')
      .handler(async () => 'never');
    await expect(early(order, context())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    const late = middy()
      .use(guard)
      .handler(async () => 'shipped');
    await expect(late({ orderId: 'o2' }, context())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
  });
});
