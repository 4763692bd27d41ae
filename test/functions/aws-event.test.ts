import { setTimeout as pause } from 'node:timers/promises';
import type { EventBridgeEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/aws-lambda/index.ts';
import { inInvocation } from '../../src/adapters/aws-lambda/invocation.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { gate, lambdaContext } from '../support/aws-events.ts';

interface Order {
  readonly orderId: string;
  readonly amount?: number;
}
const options = () => ({ store: memoryStore(), operation: 'orders/ship', key: (order: Order) => order.orderId });
const context = lambdaContext();

describe('a single event in Lambda', () => {
  it('I1 I2 the same key runs once and gives the same value', async () => {
    let runs = 0;
    const ship = idempotent(options(), async (order, given, run) => {
      runs += 1;
      return { at: new Date(0), order: order.orderId, by: given.functionName, key: run.keyFor('ship') };
    });
    const first = await ship({ orderId: 'o1' }, context);
    expect(await ship({ orderId: 'o1' }, context)).toEqual(first);
    expect((await ship({ orderId: 'o2' }, context)).key).not.toBe(first.key);
    expect(runs).toBe(2);
  });

  it('what the handler throws goes through untouched, and the next delivery runs again', async () => {
    const boom = { not: 'an Error' };
    let runs = 0;
    const ship = idempotent(options(), () => {
      runs += 1;
      if (runs === 1) throw boom;
      return runs;
    });
    await expect(ship({ orderId: 'o1' }, context)).rejects.toBe(boom);
    expect(await ship({ orderId: 'o1' }, context)).toBe(2);
  });

  it('I6 a duplicate throws IN_FLIGHT while the first is running, or waits for its value', async () => {
    const inside = gate();
    const go = gate();
    const store = memoryStore();
    const work = async () => {
      inside.open();
      await go.opened;
      return 'shipped';
    };
    const refusing = idempotent({ ...options(), store }, work);
    const waiting = idempotent({ ...options(), store, onInFlight: { waitMs: 20_000 } }, work);
    const first = refusing({ orderId: 'o1' }, context);
    await inside.opened;
    await expect(refusing({ orderId: 'o1' }, context)).rejects.toMatchObject({ code: 'IN_FLIGHT' });
    const second = waiting({ orderId: 'o1' }, context);
    go.open();
    expect([await first, await second]).toEqual(['shipped', 'shipped']);
  });

  it('I12 a wait ends by itself before the time limit, and says IN_FLIGHT', async () => {
    const go = gate();
    const store = memoryStore();
    const first = idempotent({ ...options(), store }, () => go.opened)({ orderId: 'o1' }, context);
    const endsAt = performance.now() + 400;
    const near = lambdaContext(() => endsAt - performance.now());
    const waiting = idempotent({ ...options(), store, onInFlight: { waitMs: 20_000 }, deadlineMarginMs: 200 }, () => {});
    await expect(waiting({ orderId: 'o1' }, near)).rejects.toMatchObject({ code: 'IN_FLIGHT' });
    expect(performance.now()).toBeLessThan(endsAt);
    go.open();
    await first;
  });

  it('a key or a scope that is missing is refused, and nothing runs', async () => {
    let runs = 0;
    const ship = idempotent({ ...options(), scope: (order: Order) => (order.amount === 0 ? undefined : 'tenant') }, () => ++runs);
    await expect(ship({} as Order, context)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    await expect(ship({ orderId: 'o1', amount: 0 }, context)).rejects.toMatchObject({ code: 'MISSING_SCOPE' });
    expect(runs).toBe(0);
  });

  it('I9 the input is compared when it is asked for, as it was before the work', async () => {
    const ship = idempotent({ ...options(), input: (order: Order) => order }, (order: { orderId: string; amount?: number }) => {
      order.amount = 0;
    });
    await ship({ orderId: 'o1', amount: 5 }, context);
    await ship({ orderId: 'o1', amount: 5 }, context);
    await expect(ship({ orderId: 'o1', amount: 6 }, context)).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('I6 the lease is what is left to the invocation and a second; a lease of one’s own stands', async () => {
    const leaseOf = async (more: { leaseMs?: number }, given: ReturnType<typeof lambdaContext>): Promise<number> => {
      const store = memoryStore();
      const read = async () => {
        for await (const { record } of store.list({})) return record.leaseMs;
        return -1;
      };
      return idempotent({ ...options(), store, ...more }, read)({ orderId: 'o1' }, given);
    };
    expect(
      await leaseOf(
        {},
        lambdaContext(() => 899_999.5),
      ),
    ).toBe(901_000);
    expect(await leaseOf({ leaseMs: 5_000 }, context)).toBe(5_000);
    for (const unknown of [0, -1, Number.NaN])
      expect(
        await leaseOf(
          {},
          lambdaContext(() => unknown),
        ),
      ).toBe(60_000);
    expect(await leaseOf({}, undefined as never)).toBe(60_000);
    expect(await leaseOf({}, {} as never)).toBe(60_000);
  });

  it('I11 nothing is renewed unless it is asked for: two writes, however long the work takes', async () => {
    const writesOf = async (more: { renew?: 'auto' }): Promise<number> => {
      const kept = memoryStore();
      let writes = 0;
      const counted =
        <A extends unknown[], R>(write: (...given: A) => R) =>
        (...given: A): R => {
          writes += 1;
          return write(...given);
        };
      const store = { ...kept, create: counted(kept.create), replace: counted(kept.replace) };
      await idempotent({ ...options(), store, leaseMs: 300, ...more }, () => pause(150))({ orderId: 'o1' }, context);
      return writes;
    };
    expect(await writesOf({})).toBe(2);
    expect(await writesOf({ renew: 'auto' })).toBeGreaterThan(2);
  });

  it('infers the event, and keeps name and two parameters', async () => {
    const handler = idempotent(
      { store: memoryStore(), operation: 'orders/ship', key: (event: EventBridgeEvent<'OrderPaid', Order>) => event.detail.orderId },
      async function ship(event, _context, run) {
        return `${event.detail.orderId} ${run.attempt}`;
      },
    );
    const typed: (event: EventBridgeEvent<'OrderPaid', Order>, given: typeof context) => Promise<string> = handler;
    expect([typed.name, typed.length]).toEqual(['ship', 2]);
    expect(() => idempotent({ ...options(), retentionMs: 0, keys: 1 } as never, () => {})).toThrow(/retentionMs must be.*keys is not an option/);
  });
});

describe('an invocation', () => {
  it('I12 aborts its signal shortly before the limit, and leaves no timer behind', async () => {
    const clock = virtualClock();
    const endsAt = clock.nowMs() + 10_000;
    const given = lambdaContext(() => endsAt - clock.nowMs());
    const go = gate();
    let signal: AbortSignal | undefined;
    const running = inInvocation(
      {},
      given,
      500,
      async (invocation) => {
        signal = invocation.signal;
        expect(invocation.remainingMs()).toBe(9_500);
        await go.opened;
        return invocation.remainingMs();
      },
      clock,
    );
    await clock.advance(9_500);
    expect(signal?.aborted).toBe(false);
    await clock.advance(20);
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError' });
    go.open();
    expect(await running).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('I12 leaves no timer behind when it ends early, also by a throw', async () => {
    const clock = virtualClock();
    await inInvocation({}, lambdaContext(), 500, async () => expect(clock.pendingTimers()).toBe(1), clock);
    await expect(inInvocation({}, lambdaContext(), 500, () => Promise.reject(new Error('no')), clock)).rejects.toThrow('no');
    expect(clock.pendingTimers()).toBe(0);
  });

  it('the margin takes at most half of a short invocation', async () => {
    expect(
      await inInvocation(
        {},
        lambdaContext(() => 600),
        500,
        async (invocation) => invocation.remainingMs(),
      ),
    ).toBe(300);
  });
});
