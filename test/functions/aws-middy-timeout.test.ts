import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotent, idempotentHttp, middyMiddleware, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { type RecordStore, type StoredRecord, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { gate, httpApiEvent, lambdaContext } from '../support/aws-events.ts';

const LIMIT_MS = 150;
const TIMED_OUT = { name: 'TimeoutError', message: '[AbortError]: The operation was aborted.' };
/** Longer than what is left to an invocation, the second that is added to it, and the store's uncertainty. */
const LEASE_IS_OVER_MS = LIMIT_MS + 2_000;

/** A context whose time runs out; a fraction of a millisecond is not told, as in Lambda. */
function limited(limitMs = LIMIT_MS): Context {
  const end = Date.now() + limitMs;
  return lambdaContext(() => Math.max(0, end - Date.now()));
}

async function recordOf(store: RecordStore): Promise<StoredRecord | undefined> {
  for await (const { id } of store.list({})) return (await store.read(id))?.record;
  return undefined;
}

/** A handler that hangs in its first attempt until it is told to go on; each of its answers names its attempt. */
function hanging(config: Parameters<typeof middy>[1] = {}, more: Parameters<typeof middyMiddleware>[1] = {}) {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  const go = gate();
  const guard = middyMiddleware((handler) => idempotent({ store, operation: 'o', key: (event: string) => event }, handler), more);
  const handler = middy<string>(config)
    .use(guard)
    .handler(async (_event, given) => {
      const { attempt } = guard.runOf(given);
      if (attempt === 1) await go.opened;
      return `shipped by ${attempt}`;
    });
  return { clock, store, go, handler };
}

type Hanging = ReturnType<typeof hanging>;

/** What must hold after any early time-out: nothing was declared, and the record ends by its lease. */
async function mustLapse({ clock, store, go, handler }: Hanging): Promise<void> {
  const standing = await recordOf(store);
  expect(standing).toMatchObject({ state: 'running', attempt: 1 });
  expect(standing?.leaseMs).toBeGreaterThan(LIMIT_MS / 2);
  expect(standing?.leaseMs).toBeLessThan(LEASE_IS_OVER_MS);
  await expect(handler('k', limited(5_000))).rejects.toMatchObject({ code: 'IN_FLIGHT' });

  // The work that was left behind goes on in a later invocation: nothing of it lands.
  go.open();
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(await recordOf(store)).toEqual(standing);

  await clock.advance(LEASE_IS_OVER_MS);
  expect(await handler('k', limited(5_000))).toBe('shipped by 2');
  expect(await handler('k', limited(5_000))).toBe('shipped by 2');
}

describe("middy's early time-out, while the handler is still running", () => {
  it('I6 by its own error: nothing is completed or released, and the record lapses by its lease', async () => {
    const hung = hanging();
    await expect(hung.handler('k', limited())).rejects.toMatchObject(TIMED_OUT);
    await mustLapse(hung);
  });

  it('I6 by its own error, though an error handler inside makes an answer of it', async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const guard = middyMiddleware((handler) => idempotent({ store, operation: 'o', key: (event: string) => event }, handler));
    const handler = middy<string>()
      .use(guard)
      .onError(() => 'sorry')
      .handler(() => new Promise<never>(() => {}));
    expect(await handler('k', limited())).toBe('sorry');
    expect(await recordOf(store)).toMatchObject({ state: 'running' });
  });

  it('I6 by an answer of timeoutEarlyResponse: it is not the outcome', async () => {
    const hung = hanging({ timeoutEarlyResponse: () => 'too late' });
    expect(await hung.handler('k', limited())).toBe('too late');
    await mustLapse(hung);
  });

  it('I6 by another error of timeoutEarlyResponse: it is not a failure', async () => {
    const late = new Error('too late');
    const hung = hanging({
      timeoutEarlyResponse: () => {
        throw late;
      },
    });
    await expect(hung.handler('k', limited())).rejects.toBe(late);
    await mustLapse(hung);
  });

  it('I6 by its own error, with more time reserved than this middleware was told of', async () => {
    const hung = hanging({ timeoutEarlyInMillis: 80 });
    await expect(hung.handler('k', limited())).rejects.toMatchObject(TIMED_OUT);
    await mustLapse(hung);
  });

  it('I6 with more time reserved, the same given to both', async () => {
    const hung = hanging({ timeoutEarlyInMillis: 40, timeoutEarlyResponse: () => 'too late' }, { timeoutEarlyInMillis: 40 });
    expect(await hung.handler('k', limited())).toBe('too late');
    await mustLapse(hung);
  });

  it('I6 an event loop that was blocked until then makes no difference', async () => {
    const hung = hanging({ timeoutEarlyResponse: () => 'too late' });
    const ended = hung.handler('k', limited());
    setTimeout(() => {
      for (const end = Date.now() + LIMIT_MS; Date.now() < end; );
    }, LIMIT_MS / 3);
    expect(await ended).toBe('too late');
    await mustLapse(hung);
  });

  it('I6 a lease of singleton is neither released nor is its slot done', async () => {
    const clock = virtualClock();
    const leases = storeLeases(memoryStore({ clock }));
    const guard = middyMiddleware((handler) =>
      singleton<object>({ leases, name: 'nightly', slot: () => 1_735_689_600_000, leaseMs: 1_000, renew: 'none', onSkipped: () => {} }, handler),
    );
    let runs = 0;
    const handler = middy<object>()
      .use(guard)
      .handler(async () => {
        runs += 1;
        if (runs === 1) await new Promise<never>(() => {});
        return 'reported';
      });
    await expect(handler({}, limited())).rejects.toMatchObject(TIMED_OUT);
    expect(await handler({}, limited(5_000))).toBeUndefined();
    expect(await leases.read('nightly')).toMatchObject({ held: true });
    await clock.advance(4_000);
    expect(await handler({}, limited(5_000))).toBe('reported');
  });
});

describe('an end that is no early time-out', () => {
  it('I3 an answer that comes with time left is the outcome', async () => {
    const hung = hanging({ timeoutEarlyResponse: () => 'too late' });
    hung.go.open();
    expect(await hung.handler('k', limited(1_000))).toBe('shipped by 1');
    expect(await recordOf(hung.store)).toMatchObject({ state: 'completed' });
  });

  it('I3 where it is switched off, an answer at the last moment is the outcome', async () => {
    const store = memoryStore();
    const guard = middyMiddleware((handler) => idempotent({ store, operation: 'o', key: (event: string) => event }, handler), {
      timeoutEarlyInMillis: 0,
    });
    let left = 1_000;
    const handler = middy<string>({ timeoutEarlyInMillis: 0 })
      .use(guard)
      .handler(async () => {
        left = 1;
        return 'shipped';
      });
    expect(
      await handler(
        'k',
        lambdaContext(() => left),
      ),
    ).toBe('shipped');
    expect(await recordOf(store)).toMatchObject({ state: 'completed' });
  });

  it('I3 without a known limit middy has no time-out: the answer is the outcome', async () => {
    for (const context of [{}, undefined] as unknown as Context[]) {
      const store = memoryStore();
      const guard = middyMiddleware((handler) => idempotent({ store, operation: 'o', key: (event: string) => event }, handler));
      const handler = middy<string>()
        .use(guard)
        .handler(async () => 'shipped');
      expect(await handler('k', context)).toBe('shipped');
      expect(await recordOf(store)).toMatchObject({ state: 'completed' });
    }
  });

  it('a TimeoutError of the work itself is its failure', async () => {
    const store = memoryStore();
    const guard = middyMiddleware((handler) => idempotent({ store, operation: 'o', key: (event: string) => event }, handler));
    const handler = middy<string>()
      .use(guard)
      .handler(async () => AbortSignal.abort(new DOMException('the far side', 'TimeoutError')).throwIfAborted());
    await expect(handler('k', limited(5_000))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await recordOf(store)).toMatchObject({ state: 'released' });
  });
});

describe('the wrapper around the handler, inside middy', () => {
  it("I6 middy's early time-out takes nothing back: the record lapses by its lease, unless the work gets to its end", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    const go = gate();
    const handler = middy<string>().handler(
      idempotent({ store, operation: 'o', key: (event: string) => event }, async () => {
        await go.opened;
        return 'shipped';
      }),
    );
    await expect(handler('k', limited())).rejects.toMatchObject(TIMED_OUT);
    expect(await recordOf(store)).toMatchObject({ state: 'running' });
    go.open();
    await new Promise<void>((resolve) => setTimeout(resolve, 20));
    expect(await recordOf(store)).toMatchObject({ state: 'completed' });
    expect(await handler('k', limited(5_000))).toBe('shipped');
  });
});

describe('a wrapper around a handler that middy has made', () => {
  it.each(['idempotent', 'idempotentHttp'])(
    "I6 %s takes middy's early time-out for what it is: the handler is still at work, so its lease has to run out",
    async (kind) => {
      const clock = virtualClock();
      const store = memoryStore({ clock });
      const go = gate();
      let runs = 0;
      const inner = middy().handler(async () => {
        runs += 1;
        if (runs === 1) await go.opened;
        return { statusCode: 201, body: String(runs) };
      }) as (event: unknown, context: Context) => Promise<{ statusCode: number; body: string }>;
      const options = { store, operation: 'o', onUnknown: 'retry' as const };
      const item = idempotent({ ...options, key: () => 'k' }, inner);
      const http = idempotentHttp({ ...options, scope: 'public' }, inner);
      const call = (context: Context): Promise<unknown> =>
        kind === 'idempotent' ? item({}, context) : http(httpApiEvent({ headers: { 'idempotency-key': 'k' } }), context);
      await expect(call(limited())).rejects.toMatchObject(TIMED_OUT);
      expect(await recordOf(store)).toMatchObject({ state: 'running', attempt: 1 });
      go.open();
      await new Promise<void>((resolve) => setImmediate(resolve));
      await clock.advance(LEASE_IS_OVER_MS);
      expect(await call(limited(5_000))).toMatchObject({ statusCode: 201, body: '2' });
    },
  );
});
