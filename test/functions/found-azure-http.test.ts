import { Readable } from 'node:stream';
import { app, HttpRequest, type HttpResponseInit, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { type IdempotentHttpHandler, type IdempotentHttpOptions, idempotentHttp } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, runOnce } from '../../src/index.ts';

const host = installFunctionsCore();
const KEY = { 'Idempotency-Key': '"k-1"' };
let registered = 0;

function register(handler: IdempotentHttpHandler, options: Partial<IdempotentHttpOptions> = {}) {
  const name = `found${++registered}`;
  const state = {
    calls: 0,
    send: (init: Parameters<typeof host.http>[1] = {}) => host.http(name, { ...init, headers: { ...KEY, ...init.headers } }),
  };
  app.http(name, {
    methods: ['POST'],
    handler: idempotentHttp({ store: memoryStore(), operation: name, scope: 'public', ...options }, (request, context, run) => {
      state.calls += 1;
      return handler(request, context, run);
    }),
  });
  return state;
}

describe('a reply that cannot be made after the work was done', () => {
  const replies: Record<string, () => HttpResponseInit> = {
    'JSON with a bigint': () => ({ jsonBody: { id: 10n } }),
    'cyclic JSON': () => {
      const cyclic: Record<string, unknown> = {};
      cyclic.self = cyclic;
      return { jsonBody: cyclic };
    },
    'a header beyond latin1': () => ({ headers: { 'content-disposition': 'attachment; filename="Überweisung – 1.pdf"' } }),
    'a status that does not exist': () => ({ status: 99 }),
    'a string': () => 'done' as never,
    'a body that was used': () => new Response('x') as never,
  };
  it.each(Object.entries(replies))('I6 %s: the work is not run again for that reason', async (name, make) => {
    const guarded = register(async () => {
      const made = make();
      if (name === 'a body that was used') await (made as unknown as Response).text();
      return made;
    });
    expect((await guarded.send()).status).toBe(500);
    const second = await guarded.send();
    expect([guarded.calls, second.status]).toEqual([1, 409]);
  });
});

describe('replies that the library itself sends', () => {
  const inits: Record<string, () => HttpResponseInit> = {
    'cookies: null': () => ({ status: 201, cookies: null as never }),
    'a body that is null': () => ({ status: 201, headers: undefined as never, body: null as never }),
    'a status as text': () => ({ status: '201' as never, body: 'x' }),
    'a number as header value': () => ({ headers: { etag: 5 as never } }),
    'jsonBody null': () => ({ jsonBody: null, body: 'x' }),
    'jsonBody 0': () => ({ jsonBody: 0 }),
    'jsonBody a date': () => ({ jsonBody: new Date(0) }),
    'jsonBody a function': () => ({ jsonBody: () => {} }),
    'a 205': () => ({ status: 205, body: 'x' }),
    'a 304': () => ({ status: 304, headers: { etag: '"1"' } }),
    'a 302': () => ({ status: 302, headers: { location: '/elsewhere' } }),
    'an empty body': () => ({ body: '' }),
    'a number as body': () => ({ body: 5 as never }),
    frozen: () => Object.freeze({ status: 201, headers: Object.freeze({ etag: '"1"' }), body: 'x' }),
    'two cookies in headers': () => ({
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['etag', '"1"'],
      ],
    }),
  };
  it.each(Object.entries(inits))('I2 %s: the first answer is what it would have been, and the replay the same', async (name, make) => {
    const plain = `plain found ${name}`;
    app.http(plain, { methods: ['POST'], handler: () => make() });
    const unguarded = await host.http(plain);
    const guarded = register(() => make());
    const first = await guarded.send();
    const second = await guarded.send();
    expect([first.status, first.headers, first.body.toString()]).toEqual([unguarded.status, unguarded.headers, unguarded.body.toString()]);
    const { 'set-cookie': _, ...kept } = first.headers;
    expect([second.status, second.headers, second.body.toString()]).toEqual([
      first.status,
      { ...kept, 'idempotent-replayed': 'true' },
      first.body.toString(),
    ]);
    expect(guarded.calls).toBe(1);
  });
});

describe('functions among the options', () => {
  it('I9 a fingerprint of its own may read the body, and so may the handler', async () => {
    const guarded = register(async (request) => ({ jsonBody: await request.json() }), {
      fingerprint: async (request) => JSON.stringify(await request.json()),
    });
    const first = await guarded.send({ body: '{"a":1}' });
    expect([first.status, first.body.toString()]).toEqual([200, '{"a":1}']);
    expect((await guarded.send({ body: '{"a":2}' })).status).toBe(422);
  });

  it('I9 a key taken from the body leaves it to the handler', async () => {
    const guarded = register(async (request) => ({ jsonBody: await request.json() }), {
      key: (async (request: Request) => ((await request.json()) as { id: string }).id) as never,
    });
    expect((await guarded.send({ body: '{"id":1}' })).status).toBe(200);
  });

  it.each([[[]], [['']], [['a', undefined]]])('I1 a scope of %j is 401', async (scope) => {
    expect((await register(() => ({}), { scope: () => scope as never }).send()).status).toBe(401);
  });

  it.each([[false], [true], [{}], [Number.NaN], [Symbol('s')]])('I1 a scope of %s is a mistake of ours, 500, and nothing runs', async (scope) => {
    const guarded = register(() => ({}), { scope: () => scope as never });
    expect([(await guarded.send()).status, guarded.calls]).toEqual([500, 0]);
  });

  it('I1 a scope of 0 is a scope; one that throws runs nothing', async () => {
    const zero = register(() => ({ body: 'x' }), { scope: () => 0 });
    expect((await zero.send()).status).toBe(200);
    const throws = register(() => ({}), {
      scope: () => {
        throw new Error('no claims');
      },
    });
    expect([(await throws.send()).status, throws.calls]).toEqual([500, 0]);
  });

  it('a request that passes through is left alone, also when a hook has read its body', async () => {
    const handler = idempotentHttp({ store: memoryStore(), operation: 'o', scope: 'public', required: false }, () => ({ status: 202 }));
    const request = new HttpRequest({ method: 'POST', url: 'https://app.test/api/o', body: { string: 'x' } });
    await request.text();
    expect(await handler(request, new InvocationContext())).toMatchObject({ status: 202 });
  });

  it('I1 a guarded call that is refused inside a handler is the handler’s own error', async () => {
    const store = memoryStore();
    const guarded = register(async () => {
      await runOnce({ store, operation: 'inner', key: null as never }, () => 1);
      return {};
    });
    expect((await guarded.send()).status).toBe(500);
    expect((await guarded.send()).status).toBe(500);
    expect(guarded.calls).toBe(2);
  });
});

describe('a stream that fails before the host reads it', () => {
  it('I12 fails the reply, never the process: the record is still being completed at that moment', async () => {
    const store = memoryStore();
    const slow: typeof store = {
      ...store,
      replace: async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return store.replace(...args);
      },
    };
    const uncaught: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => void uncaught.push(error));
    try {
      const broken = () =>
        new Readable({
          read() {
            this.destroy(new Error('the source broke'));
          },
        });
      for (const streams of ['pass', { recordUpTo: 1 }] as const) {
        const make = () => {
          const body = broken();
          body.resume();
          return body;
        };
        await register(() => ({ body: make() }), { store: slow, streams }).send();
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(uncaught).toEqual([]);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
  });
});
