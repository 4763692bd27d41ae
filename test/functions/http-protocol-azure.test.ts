import { once } from 'node:events';
import { Readable } from 'node:stream';
import { app, HttpResponse, type HttpResponseInit } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { type IdempotentHttpHandler, type IdempotentHttpOptions, idempotentHttp, reject } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore } from '../../src/index.ts';

const host = installFunctionsCore();
let registered = 0;

function register(handler: IdempotentHttpHandler, options: Partial<IdempotentHttpOptions> = {}) {
  const name = `protocol${++registered}`;
  const state = {
    name,
    calls: 0,
    send: (init: Parameters<typeof host.http>[1] = {}) => host.http(name, { ...init, headers: { 'Idempotency-Key': '"k-1"', ...init.headers } }),
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

const stream = (text: string): HttpResponseInit => ({
  status: 201,
  headers: { 'content-type': 'text/csv' },
  body: Readable.from(Array.from(text, (letter) => Buffer.from(letter))),
});

describe('an Azure function', () => {
  it.each([
    ['an init', () => ({ status: 400, jsonBody: { wrong: 'amount' } })],
    ['an HttpResponse', () => new HttpResponse({ status: 400, jsonBody: { wrong: 'amount' } })],
  ])('I9 may reject with %s: a corrected request uses the same key', async (_, bad) => {
    const orders = register(async (request) => ((await request.text()) === 'bad' ? reject(bad()) : { status: 201, body: 'taken' }));
    const rejected = await orders.send({ body: 'bad' });
    expect([rejected.status, rejected.body.toString()]).toEqual([400, '{"wrong":"amount"}']);
    const corrected = [await orders.send({ body: 'good' }), await orders.send({ body: 'good' })];
    expect(corrected.map((a) => [a.status, a.body.toString(), a.headers['idempotent-replayed']])).toEqual([
      [201, 'taken', undefined],
      [201, 'taken', 'true'],
    ]);
  });

  it('I3 looks again before a replay, with a request that it may read', async () => {
    const orders = register(async (request) => ({ jsonBody: await request.json() }), {
      authorizeReplay: async (request, { status }) => status === 200 && ((await request.json()) as { user: string }).user !== 'ben',
    });
    for (const [user, status] of Object.entries({ anna: 200, ben: 403 })) {
      const request = { body: JSON.stringify({ user }), headers: { 'Idempotency-Key': user } };
      await orders.send(request);
      expect((await orders.send(request)).status).toBe(status);
    }
  });

  it('I2 records a stream within its limit, with its headers, and replays it', async () => {
    const report = register(() => stream('a,b'), { streams: { recordUpTo: 3 } });
    const first = await report.send();
    const second = await report.send();
    expect([first.status, first.body.toString(), first.headers['content-type']]).toEqual([201, 'a,b', 'text/csv']);
    expect([second.status, second.body.toString(), second.headers]).toEqual([201, 'a,b', { ...first.headers, 'idempotent-replayed': 'true' }]);
    expect(report.calls).toBe(1);
  });

  it('I3 lets a longer stream pass whole, and never runs again for it', async () => {
    const report = register(() => stream('a,b,c'), { streams: { recordUpTo: 3 } });
    const first = await report.send();
    expect([first.status, first.body.toString(), first.headers['content-type']]).toEqual([201, 'a,b,c', 'text/csv']);
    const second = await report.send();
    expect([second.status, JSON.parse(second.body.toString()).code, report.calls]).toEqual([409, 'RESULT_NOT_STORED', 1]);
  });

  it('I6 does not run again for a stream that breaks while it is recorded', async () => {
    async function* broken() {
      yield Buffer.from('a');
      throw new Error('the file has gone');
    }
    const report = register(() => ({ body: broken() }), { streams: { recordUpTo: 100 } });
    expect((await report.send()).status).toBe(500);
    expect([(await report.send()).status, report.calls]).toEqual([409, 1]);
  });

  it('I1 I2 does not take what is no bytes for an empty stream: its caller is told, and nothing of it is kept', async () => {
    for (const chunk of [{ id: 1 }, 5, ['a'], undefined]) {
      const body = Readable.from(['a', chunk ?? new SharedArrayBuffer(1)]);
      const report = register(() => ({ body }), { streams: { recordUpTo: 100 } });
      expect((await report.send()).status).toBe(500);
      expect([(await report.send()).status, report.calls, body.destroyed]).toEqual([409, 1, true]);
    }
  });

  it('never waits for the end of server-sent events', async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    async function* events() {
      yield Buffer.from('data: 1\n\n');
      await ended;
    }
    const handler = idempotentHttp({ store: memoryStore(), operation: 'events', scope: 'public', streams: { recordUpTo: 1_000 } }, () => ({
      headers: { 'content-type': 'text/event-stream' },
      body: events(),
    }));
    const { HttpRequest, InvocationContext } = await import('@azure/functions');
    const request = new HttpRequest({ method: 'POST', url: 'http://localhost/', headers: { 'idempotency-key': 'k' } });
    const answer = (await handler(request, new InvocationContext())) as { body: AsyncGenerator<Buffer> };
    expect((await answer.body.next()).value?.toString()).toBe('data: 1\n\n');
    end();
    expect((await answer.body.next()).done).toBe(true);
  });

  it('says once for each operation that a stream is not recorded, unless that was chosen', async () => {
    const warnings: string[] = [];
    const listen = (warning: Error & { code?: string }): void => {
      if (warning.code === 'RERUNSAFE_STREAM_NOT_RECORDED') warnings.push(warning.message);
    };
    process.on('warning', listen);
    try {
      const chosen = register(() => stream('a'), { streams: 'pass' });
      const untold = register(() => stream('a'));
      await chosen.send();
      for (const key of ['1', '2']) await untold.send({ headers: { 'Idempotency-Key': key } });
      const turn = once(process, 'warning');
      process.emitWarning('the last one');
      await turn;
      expect(warnings).toEqual([expect.stringContaining(untold.name)]);
    } finally {
      process.off('warning', listen);
    }
  });
});
