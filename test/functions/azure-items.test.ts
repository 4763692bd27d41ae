import { app, type InvocationContext, output } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { ItemsFailedError, idempotent, idempotentEach } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, runOnce } from '../../src/index.ts';

interface Order {
  readonly id: string;
  readonly amount: number;
}

const host = installFunctionsCore();
const message = (order: Partial<Order>) => ({ string: JSON.stringify(order) });
const batch = (...orders: unknown[]) => ({ collectionString: { string: orders.map((order) => JSON.stringify(order)) } });
const queue = { queueName: 'orders', connection: 'Storage' };

/** Work that goes on until it is let go. */
function gate() {
  let open = (): void => {};
  let enter = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  return {
    entered,
    open: () => open(),
    pass: () => {
      enter();
      return opened;
    },
  };
}

describe('idempotent, through the real @azure/functions library', () => {
  it('I2 gives a redelivered message the same return value and output bindings, without running again', async () => {
    const audit = output.storageQueue({ queueName: 'audit', connection: 'Storage' });
    let calls = 0;
    async function take(order: Order, context: InvocationContext) {
      calls += 1;
      context.extraOutputs.set(audit, { taken: order.id });
      return { took: order.id, calls };
    }
    const handler = idempotent({ store: memoryStore(), operation: 'orders/take', key: (order: Order) => order.id }, take);
    expect([handler.name, handler.length]).toEqual(['take', 2]);
    app.storageQueue('take', {
      ...queue,
      extraOutputs: [audit],
      return: output.storageQueue({ queueName: 'taken', connection: 'Storage' }),
      handler,
    });
    const first = await host.invoke('take', message({ id: 'o-1' }), { Id: { string: 'm-1' }, DequeueCount: { json: '1' } });
    const second = await host.invoke('take', message({ id: 'o-1' }), { Id: { string: 'm-1' }, DequeueCount: { json: '2' } });
    expect(first.returnValue).toEqual({ json: '{"took":"o-1","calls":1}' });
    expect(first.outputs).toEqual({ [audit.name]: { json: '{"taken":"o-1"}' } });
    expect([second.returnValue, second.outputs]).toEqual([first.returnValue, first.outputs]);
  });

  it('lets a failed message run again, and throws what the handler threw', async () => {
    const thrown = new Error('no');
    let calls = 0;
    app.storageQueue<Order>('fails', {
      ...queue,
      handler: idempotent({ store: memoryStore(), operation: 'orders/fails', key: (order) => order.id }, (_order, _context, run) => {
        calls += 1;
        if (calls === 1) throw thrown;
        return run.attempt;
      }),
    });
    await expect(host.invoke('fails', message({ id: 'o-1' }))).rejects.toBe(thrown);
    expect((await host.invoke('fails', message({ id: 'o-1' }))).returnValue).toEqual({ int: 2 });
  });

  it('I1 a duplicate of a queue message waits for the first, bounded, and is then refused: never acknowledged', async () => {
    const first = gate();
    let calls = 0;
    app.serviceBusQueue<Order>('slow', {
      ...queue,
      handler: idempotent({ store: memoryStore(), operation: 'orders/slow', key: (order) => order.id, leaseMs: 1_000 }, async () => {
        calls += 1;
        await first.pass();
        return 'done';
      }),
    });
    const running = host.invoke('slow', message({ id: 'o-1' }));
    await first.entered;
    await expect(host.invoke('slow', message({ id: 'o-1' }))).rejects.toMatchObject({ code: 'IN_FLIGHT' });
    const waiting = host.invoke('slow', message({ id: 'o-1' }));
    first.open();
    expect([(await running).returnValue, (await waiting).returnValue]).toEqual([{ string: 'done' }, { string: 'done' }]);
    expect(calls).toBe(1);
  });

  it('I10 a duplicate in a stream waits until it can take over: a throw would lose it', async () => {
    const store = memoryStore();
    const died = runOnce({ store, operation: 'readings/keep', key: 'r-1', leaseMs: 300, renew: 'none' }, () => new Promise<never>(() => {}));
    died.catch(() => {});
    app.eventHub<Order>('keep', {
      eventHubName: 'readings',
      connection: 'Hub',
      handler: idempotent(
        { store, operation: 'readings/keep', key: (reading) => reading.id, leaseMs: 200 },
        (_reading, _context, run) => run.attempt,
      ),
    });
    expect((await host.invoke('keep', message({ id: 'r-1' }))).returnValue).toEqual({ int: 2 });
  });

  it('a duplicate of any other trigger is refused at once, and `onInFlight` overrules it all', async () => {
    for (const [name, type, onInFlight] of [
      ['activity', 'activityTrigger', undefined],
      ['impatient', 'queueTrigger', 'refuse'],
    ] as const) {
      const first = gate();
      app.generic(name, {
        trigger: { type, name: 'input' },
        handler: idempotent({ store: memoryStore(), operation: name, key: (o: Order) => o.id, ...(onInFlight ? { onInFlight } : {}) }, first.pass),
      });
      const running = host.invoke(name, message({ id: 'o-1' }));
      await first.entered;
      const askedAt = performance.now();
      await expect(host.invoke(name, message({ id: 'o-1' }))).rejects.toMatchObject({ code: 'IN_FLIGHT' });
      expect(performance.now() - askedAt).toBeLessThan(5_000);
      first.open();
      await running;
    }
  });

  it.each(['orchestrationTrigger', 'entityTrigger', 'httpTrigger'])('refuses a %s at its first call; nothing runs', async (type) => {
    let calls = 0;
    const count = () => {
      calls += 1;
    };
    const options = { store: memoryStore(), operation: 'o', key: () => 'k' };
    app.generic(`one ${type}`, { trigger: { type, name: 'input' }, handler: idempotent(options, count) });
    app.generic(`each ${type}`, { trigger: { type, name: 'input' }, handler: idempotentEach(options, count) });
    await expect(host.invoke(`one ${type}`, { json: '{}' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(host.invoke(`each ${type}`, { json: '[{}]' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(calls).toBe(0);
  });

  it('I3 a return value that cannot be kept, and that nobody asked for, does not poison the message', async () => {
    let calls = 0;
    app.storageQueue<Order>('client', {
      ...queue,
      handler: idempotent({ store: memoryStore(), operation: 'client', key: (order) => order.id }, () => {
        calls += 1;
        return { send: () => {} };
      }),
    });
    await host.invoke('client', message({ id: 'o-1' }));
    expect((await host.invoke('client', message({ id: 'o-1' }))).returnValue).toBeUndefined();
    expect(calls).toBe(1);
  });

  it('I9 compares what `input` gives, and separates scopes', async () => {
    app.storageQueue<Order>('compared', {
      ...queue,
      handler: idempotent(
        {
          store: memoryStore(),
          operation: 'compared',
          key: (order) => order.id,
          input: (order) => order.amount,
          scope: (_order, context) => context.triggerMetadata?.tenant as string,
        },
        (order) => order.amount,
      ),
    });
    const of = (tenant: string) => ({ Tenant: { string: tenant } });
    await host.invoke('compared', message({ id: 'o-1', amount: 1 }), of('a'));
    await expect(host.invoke('compared', message({ id: 'o-1', amount: 2 }), of('a'))).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect((await host.invoke('compared', message({ id: 'o-1', amount: 2 }), of('b'))).returnValue).toEqual({ int: 2 });
    await expect(host.invoke('compared', message({ id: 'o-1', amount: 1 }))).rejects.toMatchObject({ code: 'MISSING_SCOPE' });
    await expect(host.invoke('compared', message({ amount: 1 }), of('a'))).rejects.toMatchObject({ code: 'MISSING_KEY' });
    await expect(host.invoke('compared', message({ id: 'o-2' }), of('a'))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('remembers for 7 days, and says who runs it', async () => {
    const store = memoryStore();
    app.storageQueue<Order>('remembers', { ...queue, handler: idempotent({ store, operation: 'remembers', key: (order) => order.id }, () => 1) });
    await host.invoke('remembers', message({ id: 'o-1' }), undefined, 'inv-1');
    for await (const { record } of store.list({ operation: 'remembers' })) {
      expect([record.retentionMs, record.holder, record.label]).toEqual([7 * 86_400_000, 'remembers inv-1', 'o-1']);
    }
    expect.assertions(1);
  });
});

describe('idempotentEach, through the real @azure/functions library', () => {
  it('I1 tries every item, names what failed, and a batch that comes back costs only that', async () => {
    const seen: string[] = [];
    let broken = true;
    app.serviceBusQueue<Order[]>('each', {
      ...queue,
      cardinality: 'many',
      handler: idempotentEach({ store: memoryStore(), operation: 'orders/each', key: (order: Order) => order.id }, (order, _context, run, index) => {
        seen.push(`${order.id}:${index}:${run.attempt}`);
        if (broken && order.id !== 'b') throw new Error(`no ${order.id}`);
      }),
    });
    const orders = batch({ id: 'a' }, { id: 'b' }, { id: 'c' }, {});
    const failed = await host.invoke('each', orders).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ItemsFailedError);
    expect(failed).toMatchObject({ message: 'orders/each: 3 of 4 items failed (index 0, 2, 3), the first with: no a' });
    expect((failed as ItemsFailedError).errors).toMatchObject([{ message: 'no a' }, { message: 'no c' }, { code: 'MISSING_KEY' }]);
    broken = false;
    await host.invoke('each', batch({ id: 'a' }, { id: 'b' }, { id: 'c' }));
    expect(seen).toEqual(['a:0:1', 'b:1:1', 'c:2:1', 'a:0:2', 'c:2:2']);
  });

  it('works in order, one at a time, or on as many as it is told', async () => {
    for (const [concurrency, most] of [
      [undefined, 1],
      [3, 3],
    ] as const) {
      let now = 0;
      let seen = 0;
      const name = `together ${most}`;
      app.eventHub<Order[]>(name, {
        eventHubName: 'e',
        connection: 'Hub',
        cardinality: 'many',
        handler: idempotentEach(
          { store: memoryStore(), operation: name, key: (order: Order) => order.id, ...(concurrency === undefined ? {} : { concurrency }) },
          async () => {
            seen = Math.max(seen, ++now);
            await new Promise((resolve) => setImmediate(resolve));
            now -= 1;
          },
        ),
      });
      await host.invoke(name, batch(...Array.from({ length: 8 }, (_, id) => ({ id: `${id}` }))));
      expect(seen).toBe(most);
    }
  });

  it('refuses what is no batch, and outputs that it could not keep for each item', async () => {
    const handler = () => idempotentEach({ store: memoryStore(), operation: 'o', key: () => 'k' }, () => {});
    app.serviceBusQueue<unknown[]>('no batch', { ...queue, handler: handler() });
    app.serviceBusQueue<unknown[]>('outputs', { ...queue, extraOutputs: [output.storageQueue(queue)], handler: handler() });
    await expect(host.invoke('no batch', message({ id: 'a' }))).rejects.toThrow('cardinality');
    await expect(host.invoke('outputs', batch({ id: 'a' }))).rejects.toThrow('output bindings');
    expect(() => idempotentEach({ store: memoryStore(), operation: 'o', key: () => 'k', concurrency: 0 }, () => {})).toThrow('concurrency');
  });
});
