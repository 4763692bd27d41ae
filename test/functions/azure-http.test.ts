import { Readable } from 'node:stream';
import { app, HttpResponse, type HttpResponseInit, output } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { type IdempotentHttpHandler, type IdempotentHttpOptions, idempotentHttp } from '../../src/adapters/azure-functions/index.ts';
import { currentRun, memoryStore, type Run } from '../../src/index.ts';

const host = installFunctionsCore();
const KEY = { 'Idempotency-Key': '"k-1"' };
let registered = 0;

/** Registers a function of its own for each test, on a store of its own. */
function register(handler: IdempotentHttpHandler, options: Partial<IdempotentHttpOptions> = {}, more: Partial<Parameters<typeof app.http>[1]> = {}) {
  const name = `http${++registered}`;
  const state = {
    calls: 0,
    send: (init: Parameters<typeof host.http>[1] = {}) => host.http(name, { ...init, headers: { ...KEY, ...init?.headers } }),
  };
  app.http(name, {
    methods: ['GET', 'POST'],
    ...more,
    handler: idempotentHttp({ store: memoryStore(), operation: name, scope: 'public', ...options }, (request, context, run) => {
      state.calls += 1;
      return handler(request, context, run);
    }),
  });
  return state;
}

describe('idempotentHttp, through the real @azure/functions library', () => {
  it('keeps the name of the handler and declares two parameters', () => {
    const wrapped = idempotentHttp({ store: memoryStore(), operation: 'o', scope: 'public' }, async function charge() {
      return {};
    });
    expect([wrapped.name, wrapped.length]).toEqual(['charge', 2]);
    expect(() => idempotentHttp({ store: memoryStore(), operation: 'o' } as IdempotentHttpOptions, () => ({}))).toThrow('scope is missing');
  });

  const bodies: Record<string, () => HttpResponseInit> = {
    text: () => ({ body: 'grüß' }),
    JSON: () => ({ jsonBody: { b: 1, a: [null, 'ü'] } }),
    'JSON beside a body': () => ({ jsonBody: false, body: 'ignored', headers: { 'Content-Type': 'application/vnd.x+json' } }),
    Buffer: () => ({ body: Buffer.from([0, 255, 10]) }),
    'a part of a buffer': () => ({ body: new Uint8Array([9, 0, 255, 9]).subarray(1, 3) }),
    ArrayBuffer: () => ({ body: new Uint8Array([1, 200]).buffer }),
    Blob: () => ({ body: new Blob(['blob'], { type: 'text/csv' }) as NonNullable<HttpResponseInit['body']> }),
    URLSearchParams: () => ({ body: new URLSearchParams({ a: '1 2' }) }),
    FormData: () => {
      const body = new FormData();
      body.set('a', '1');
      return { body: body as NonNullable<HttpResponseInit['body']> };
    },
    nothing: () => ({ status: 201, headers: [['ETag', '"1"']] }),
    'a status without a body': () => ({ status: 204, body: 'dropped', jsonBody: 1 }),
  };

  it.each(Object.entries(bodies))('I2 replays %s byte for byte, as the library itself would have sent it', async (form, init) => {
    const plain = `plain${++registered}`;
    app.http(plain, { methods: ['POST'], handler: () => init() });
    const unguarded = await host.http(plain);
    const guarded = register(() => init());
    const first = await guarded.send();
    const second = await guarded.send();
    if (form !== 'FormData') {
      expect([first.status, first.headers]).toEqual([unguarded.status, unguarded.headers]);
      expect(first.body.equals(unguarded.body)).toBe(true);
    }
    expect(second.status).toBe(first.status);
    expect(second.body.equals(first.body)).toBe(true);
    expect(second.headers).toEqual({ ...first.headers, 'idempotent-replayed': 'true' });
    expect(guarded.calls).toBe(1);
  });

  it('I2 replays an HttpResponse, and never its cookies', async () => {
    const guarded = register(
      () => new HttpResponse({ status: 202, body: 'x', headers: { location: '/1', 'x-other': '1' }, cookies: [{ name: 'session', value: 's' }] }),
    );
    const first = await guarded.send();
    const second = await guarded.send();
    expect([first.status, first.cookies.map((c) => c.name), first.headers['x-other']]).toEqual([202, ['session'], '1']);
    expect([second.status, second.cookies, second.headers.location, second.headers['x-other'], second.body.toString()]).toEqual([
      202,
      [],
      '/1',
      undefined,
      'x',
    ]);
  });

  it('I3 sends a stream through, and refuses later callers instead of running again', async () => {
    const forms = [
      () => Readable.from([Buffer.from('a'), Buffer.from('b')]),
      () => new Blob(['ab']).stream() as NonNullable<HttpResponseInit['body']>,
    ];
    for (const form of forms) {
      const guarded = register(() => ({ status: 200, body: form() }));
      expect((await guarded.send()).body.toString()).toBe('ab');
      const second = await guarded.send();
      expect([second.status, JSON.parse(second.body.toString()).code, guarded.calls]).toEqual([409, 'RESULT_NOT_STORED', 1]);
    }
  });

  it('I9 compares the body, which the handler still reads for itself', async () => {
    const headers = { 'content-type': 'application/json' };
    const guarded = register(async (request) => ({ jsonBody: { got: await request.json(), user: request.user, id: request.params.id ?? null } }));
    const first = await guarded.send({ headers, body: '{"amount":1,"to":"a"}' });
    expect(JSON.parse(first.body.toString())).toEqual({ got: { amount: 1, to: 'a' }, user: null, id: null });
    expect((await guarded.send({ headers, body: '{ "to": "a", "amount": 1 }' })).headers['idempotent-replayed']).toBe('true');
    const other = await guarded.send({ headers, body: '{"amount":2,"to":"a"}' });
    expect([other.status, other.headers['content-type']]).toEqual([422, 'application/problem+json']);
  });

  it('refuses a body that is too long, declared or not, before any work', async () => {
    const guarded = register(() => ({}), { maxBodyBytes: 10 });
    expect((await guarded.send({ body: 'x'.repeat(11) })).status).toBe(413);
    expect((await guarded.send({ body: 'x', headers: { 'content-length': '11' } })).status).toBe(413);
    expect(guarded.calls).toBe(0);
    expect((await guarded.send({ body: 'x'.repeat(10) })).status).toBe(200);
  });

  it('passes other methods through untouched, and lets the host answer 500 for a throw', async () => {
    const keys = new Set<string>();
    const guarded = register((request, _context, run) => {
      if (run.fence === undefined) keys.add(run.keyFor('charge'));
      if (request.method === 'POST') throw new Error('no');
      return { body: Readable.from([Buffer.from('got')]) };
    });
    expect((await guarded.send({ method: 'GET' })).body.toString()).toBe('got');
    await guarded.send({ method: 'GET' });
    expect(keys.size, 'two requests that are not guarded never share a derived key').toBe(2);
    expect((await guarded.send()).status).toBe(500);
    expect((await guarded.send()).status).toBe(500);
    expect(guarded.calls).toBe(4);
  });

  it('I2 sets output bindings again on a replay: the host writes them after the handler', async () => {
    const queue = output.storageQueue({ queueName: 'q', connection: 'Storage' });
    const guarded = register(
      (_request, context) => {
        context.extraOutputs.set(queue, [{ id: 1 }]);
        return { status: 202 };
      },
      {},
      { extraOutputs: [queue] },
    );
    const first = await guarded.send();
    const second = await guarded.send();
    expect(first.outputs).toEqual({ [queue.name]: { json: '[{"id":1}]' } });
    expect(second.outputs).toEqual(first.outputs);
    expect((await guarded.send({ body: 'other' })).outputs).toEqual({});
    expect(guarded.calls).toBe(1);
  });

  it('takes the scope from the request, and hands out the run that is current', async () => {
    const seen: boolean[] = [];
    const guarded = register(
      (_request, _context, run) => {
        seen.push(currentRun() === (run as unknown as Run));
        return { jsonBody: seen.length };
      },
      { scope: (request) => request.headers.get('x-tenant') },
    );
    const of = async (tenant: string) => (await guarded.send({ headers: { 'x-tenant': tenant } })).body.toString();
    expect([await of('a'), await of('b'), await of('a')]).toEqual(['1', '2', '1']);
    expect((await guarded.send()).status).toBe(401);
    expect(seen).toEqual([true, true]);
  });

  it('I8 asks about an unknown outcome in the words of a handler', async () => {
    const guarded = register(
      () => {
        throw new Error('timed out');
      },
      { onThrow: () => 'unknown', onUnknown: (run) => ({ done: { status: 201, jsonBody: { attempt: run.attempt } } }) },
    );
    expect((await guarded.send()).status).toBe(500);
    const answers = [await guarded.send(), await guarded.send()];
    expect(answers.map((a) => [a.status, a.body.toString()])).toEqual([
      [201, '{"attempt":2}'],
      [201, '{"attempt":2}'],
    ]);
  });
});
