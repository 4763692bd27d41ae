import { setTimeout as pause } from 'node:timers/promises';
import { app, output } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import {
  type IdempotentHttpHandler,
  type IdempotentHttpOptions,
  idempotent,
  idempotentEach,
  idempotentHttp,
  singleton,
} from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, storeLeases } from '../../src/index.ts';

const host = installFunctionsCore();
const KEY = { 'Idempotency-Key': '"k-1"' };
const audit = output.storageQueue({ queueName: 'audit', connection: 'Storage' });
const queue = { queueName: 'orders', connection: 'Storage' };
const message = (order: unknown) => ({ string: JSON.stringify(order) });
let registered = 0;

function register(handler: IdempotentHttpHandler, options: Partial<IdempotentHttpOptions> = {}) {
  const name = `found${++registered}`;
  const state = {
    calls: 0,
    send: (init: Parameters<typeof host.http>[1] = {}) => host.http(name, { ...init, headers: { ...KEY, ...init.headers } }),
  };
  app.http(name, {
    methods: ['POST'],
    extraOutputs: [audit],
    handler: idempotentHttp({ store: memoryStore(), operation: name, scope: 'public', ...options }, (request, context, run) => {
      state.calls += 1;
      return handler(request, context, run);
    }),
  });
  return state;
}

describe('output bindings', () => {
  it('I4 an attempt that lost its lease sends none with its 503', async () => {
    const guarded = register(
      async (_request, context, run) => {
        context.extraOutputs.set(audit, { attempt: run.attempt });
        await new Promise((resolve) => run.signal.addEventListener('abort', resolve));
        run.assertHeld();
        return {};
      },
      { leaseMs: 200, renew: 'none' },
    );
    const answer = await guarded.send();
    expect([answer.status, answer.outputs]).toEqual([503, {}]);
  });

  it('I4 an HTTP attempt that was overtaken sends the outputs of the one that won, and no other', async () => {
    const store = memoryStore();
    let goOn = (): void => {};
    const until = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const guarded = register(
      async (_request, context, run) => {
        if (run.attempt > 1) return { status: 201, body: 'second' };
        context.extraOutputs.set(audit, 'of the first');
        await until;
        return { status: 201, body: 'first' };
      },
      { store, leaseMs: 200, renew: 'none' },
    );
    const stale = guarded.send();
    await pause(300);
    const winner = await guarded.send();
    goOn();
    const late = await stale;
    expect([winner.body.toString(), winner.outputs]).toEqual(['second', {}]);
    expect([late.body.toString(), late.outputs]).toEqual(['second', {}]);
  });

  it('I4 a message whose attempt was overtaken sends the outputs of the one that won, and no other', async () => {
    let goOn = (): void => {};
    const until = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    app.storageQueue<{ id: string }>('found overtaken', {
      ...queue,
      extraOutputs: [audit],
      handler: idempotent(
        { store: memoryStore(), operation: 'found/overtaken', key: (o: { id: string }) => o.id, leaseMs: 200, renew: 'none' },
        async (_o, context, run) => {
          if (run.attempt > 1) return 'second';
          context.extraOutputs.set(audit, 'of the first');
          await until;
          return 'first';
        },
      ),
    });
    const stale = host.invoke('found overtaken', message({ id: '1' }));
    await pause(300);
    const winner = await host.invoke('found overtaken', message({ id: '1' }));
    goOn();
    const late = await stale;
    expect([winner.returnValue, winner.outputs]).toEqual([{ string: 'second' }, {}]);
    expect([late.returnValue, late.outputs]).toEqual([{ string: 'second' }, {}]);
  });

  it('I2 what is set after a commit is no part of the outcome, now or on a replay', async () => {
    const store = memoryStore();
    const guarded = register(
      async (_request, context, run) => {
        context.extraOutputs.set(audit, 'before');
        await run.commit({ status: 201 }, ({ id, record, version }) =>
          version === undefined ? store.create(id, record) : store.replace(id, record, version),
        );
        context.extraOutputs.set(audit, 'after');
        return { status: 500 };
      },
      { store },
    );
    const answers = [await guarded.send(), await guarded.send()];
    expect(answers.map((a) => [a.status, a.outputs])).toEqual([
      [201, { [audit.name]: { string: 'before' } }],
      [201, { [audit.name]: { string: 'before' } }],
    ]);
  });
});

describe('batches and timers', () => {
  it('I1 the same key twice in one batch runs once, with any concurrency', async () => {
    for (const concurrency of [1, 2, 8]) {
      let calls = 0;
      const name = `found twice ${concurrency}`;
      app.serviceBusQueue<{ id: string }[]>(name, {
        ...queue,
        cardinality: 'many',
        handler: idempotentEach({ store: memoryStore(), operation: name, key: (o: { id: string }) => o.id, concurrency }, async () => {
          calls += 1;
          await pause(20);
        }),
      });
      const same = JSON.stringify({ id: 'a' });
      await host.invoke(name, { collectionString: { string: [same, same, same] } });
      expect(calls).toBe(1);
    }
  });

  it.each(['2026-01-01T02:00:00+01:00', '2026-01-01T01:00:00.1234567Z', '2026-01-01T01:00:00Z'])('I1 %s is the same occurrence', async (next) => {
    const leases = storeLeases(memoryStore());
    const slots: (number | undefined)[] = [];
    app.timer(`found ${next}`, {
      schedule: '0 0 2 * * *',
      handler: singleton({ leases, name: 'n' }, async (_timer, _context, lease) => {
        slots.push(lease.token);
      }),
    });
    const tick = (at: string) => ({ json: JSON.stringify({ IsPastDue: true, ScheduleStatus: { Last: null, Next: at, LastUpdated: at } }) });
    await host.invoke(`found ${next}`, tick(next));
    await host.invoke(`found ${next}`, tick('2026-01-01T01:00:00+00:00'));
    expect(slots.length).toBe(1);
  });

  it('I12 a hook for skipped runs that is asynchronous ends before the function does', async () => {
    let ended = false;
    const leases = storeLeases(memoryStore());
    app.timer('found skipped', {
      schedule: '0 0 2 * * *',
      handler: singleton(
        {
          leases,
          name: 'n',
          slot: () => 1_000,
          onSkipped: async () => {
            await pause(20);
            ended = true;
          },
        },
        () => {},
      ),
    });
    const tick = { json: '{}' };
    await host.invoke('found skipped', tick);
    await host.invoke('found skipped', tick);
    expect(ended).toBe(true);
  });
});
