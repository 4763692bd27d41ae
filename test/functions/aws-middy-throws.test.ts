import { setImmediate as turn } from 'node:timers/promises';
import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotent, type MiddyRequest, middyMiddleware, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError, type RecordStore, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate, lambdaContext } from '../support/aws-events.ts';

interface Order {
  readonly orderId: string;
}
const order: Order = { orderId: 'o1' };
const context = (): Context => lambdaContext();
const guardOf = (store: RecordStore, operation = 'orders/ship') =>
  middyMiddleware((handler) => idempotent({ store, operation, key: (event: Order) => event.orderId }, handler));
type OnError = (request: MiddyRequest<Order>) => unknown;

async function states(store: RecordStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { record } of store.list({})) found.push(record.state);
  return found;
}
/** What keeps the process alive; one of the test runner's own may end meanwhile. */
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
/** The record is written after the answer has gone. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await turn();
}

describe('an error handler inside that throws', () => {
  const other = new Error('of the error handler');
  const rethrowing: Record<string, OnError> = {
    'the same error': ({ error }) => {
      throw error;
    },
    'the same error, later': async ({ error }) => {
      await turn();
      throw error;
    },
    'another one': () => {
      throw other;
    },
    'a text': () => {
      throw 'text';
    },
    nothing: () => {
      throw undefined;
    },
    'one that it has set before': async (request) => {
      request.error = other;
      await turn();
      throw other;
    },
    'the same error, after another handler has answered': (request) => {
      request.response = 'sorry';
      throw request.error;
    },
  };

  it.each(Object.entries(rethrowing))('I10 I12 %s: the attempt has failed, its record is released, and nothing stays behind', async (_, onError) => {
    for (const failing of ['before', 'handler', 'after'] as const) {
      const store = memoryStore();
      const before = timers();
      let runs = 0;
      const fail = (at: string) => {
        if (failing === at && runs < 2) throw Object.assign(new Error(`in ${at}`), { runs: ++runs });
      };
      const handler = middy<Order>()
        .use(guardOf(store))
        .use({ before: () => fail('before'), after: () => fail('after'), onError: onError as never })
        .handler(async () => {
          fail('handler');
          return 'shipped';
        });
      for (let attempt = 0; attempt < 2; attempt += 1) {
        expect(
          await handler(order, context()).then(
            () => 'answered',
            () => 'threw',
          ),
        ).toBe('threw');
        await settled();
        expect([await states(store), Math.max(0, timers() - before)]).toEqual([['released'], 0]);
      }
      expect(await handler(order, context())).toBe('shipped');
    }
  });

  it('I2 the caller has the very error, and a PermanentError is remembered', async () => {
    const declined = new PermanentError('declined', { code: 'card' });
    const store = memoryStore();
    let runs = 0;
    const handler = middy<Order>()
      .use(guardOf(store))
      .onError(({ error }) => {
        throw error;
      })
      .handler(async () => {
        runs += 1;
        throw declined;
      });
    await expect(handler(order, context())).rejects.toBe(declined);
    await settled();
    await expect(handler(order, context())).rejects.toMatchObject({ name: 'PermanentError', code: 'card' });
    expect(runs).toBe(1);
  });

  it('I12 a save that fails behind it is no unhandled rejection', async () => {
    const store: RecordStore = { ...memoryStore(), replace: () => Promise.reject(new Error('down')) };
    const boom = new Error('boom');
    const handler = middy<Order>()
      .use(guardOf(store))
      .onError(({ error }) => {
        throw error;
      })
      .handler(async () => {
        throw boom;
      });
    await expect(handler(order, context())).rejects.toBe(boom);
    await settled();
  });

  it('I10 two guards of one chain are both told, of an early answer too', async () => {
    for (const early of [false, true]) {
      const store = memoryStore();
      const leases = storeLeases(memoryStore());
      const handler = middy<Order>()
        .use(guardOf(store, 'outer'))
        .use(middyMiddleware((handler) => singleton<Order>({ leases, name: 'middle', slot: false }, handler)))
        .use(guardOf(store, 'inner'))
        .before(() => (early ? 'cached' : undefined))
        .onError(({ error }) => {
          throw error;
        })
        .handler(async () => {
          throw new Error('boom');
        });
      expect(await handler(order, context()).catch(() => 'threw')).toBe(early ? 'cached' : 'threw');
      await settled();
      expect(await states(store)).toEqual(early ? ['completed', 'completed'] : ['released', 'released']);
      expect((await leases.read('middle'))?.held).toBe(false);
    }
  });

  it('I10 one between two guards that throws: the outer one is told', async () => {
    const store = memoryStore();
    const handler = middy<Order>()
      .use(guardOf(store, 'outer'))
      .onError(() => {
        throw other;
      })
      .use(guardOf(store, 'inner'))
      .handler(async () => {
        throw new Error('boom');
      });
    await expect(handler(order, context())).rejects.toBe(other);
    await settled();
    expect(await states(store)).toEqual(['released', 'released']);
  });
});

describe('an error handler inside that only sets the error', () => {
  const mapping: Record<string, OnError> = {
    'to another one, and answers': async (request) => {
      request.error = { statusCode: 500 };
      await turn();
      request.response = 'sorry';
    },
    'to the same one, and answers': (request) => {
      const { error } = request;
      request.error = error;
      request.response = 'sorry';
    },
    'and the next one answers': (request) => {
      const { error } = request;
      request.error = error;
    },
  };

  it.each(Object.entries(mapping))('I2 %s: that is the outcome', async (_, onError) => {
    let runs = 0;
    const handler = middy<Order>()
      .use(guardOf(memoryStore()))
      .onError(({ response }) => response ?? 'sorry')
      .onError(onError as never)
      .handler(async () => {
        runs += 1;
        throw new Error('boom');
      });
    for (let call = 0; call < 2; call += 1) expect(await handler(order, context())).toBe('sorry');
    expect(runs).toBe(1);
  });

  it('I2 before anything has failed: an answer of the error handlers is the outcome all the same', async () => {
    const boom = new Error('boom');
    const handler = middy<Order>()
      .use(guardOf(memoryStore()))
      .onError(async () => {
        await settled();
        return 'sorry';
      })
      .after((request) => {
        request.error = boom;
        throw boom;
      })
      .handler(async () => 'shipped');
    for (let call = 0; call < 2; call += 1) expect(await handler(order, context())).toBe('sorry');
  });

  it("I6 of middy's early time-out: the handler is still at work, so nothing is declared", async () => {
    for (const end of ['sets', 'throws', 'answers']) {
      const store = memoryStore();
      const go = gate();
      const endsAt = Date.now() + 250;
      const handler = middy<Order>({ timeoutEarlyInMillis: 200 })
        .use(guardOf(store))
        .onError((request) => {
          if (end === 'answers') return 'sorry';
          const mapped = new Error('mapped');
          request.error = mapped;
          if (end === 'throws') throw mapped;
          return undefined;
        })
        .handler(async () => {
          await go.opened;
          return 'shipped';
        });
      const left = lambdaContext(() => Math.max(0, endsAt - Date.now()));
      expect(await handler(order, left).catch((error: Error) => error.message)).toBe(end === 'answers' ? 'sorry' : 'mapped');
      await settled();
      expect(await states(store)).toEqual(['running']);
      go.open();
    }
  });
});

describe('a wrapper that has ended before its work', () => {
  it('I12 is not told of the end of the work, and nobody is told of an unhandled rejection', async () => {
    const guard = middyMiddleware((handler) => async (event: Order, given: Context) => {
      void handler(event, given, {});
      await turn();
      return 'too early';
    });
    const handler = middy<Order>()
      .use(guard)
      .handler(async () => {
        await settled();
        throw new Error('boom');
      });
    expect(await handler(order, context())).toBe('too early');
    await settled();
  });
});
