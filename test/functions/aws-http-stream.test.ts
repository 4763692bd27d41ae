import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ReadableStream } from 'node:stream/web';
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2, StreamifyHandler } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type HttpEvent,
  idempotentHttp,
  type LambdaStreamOptions,
  reject,
  type StreamedAnswer,
  type StreamingEvent,
} from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/index.ts';
import { albEvent, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';
import { awslambda, invokeStreaming } from '../support/awslambda.ts';

const KEY = { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
const context = lambdaContext();
const event = httpApiEvent({ headers: KEY });
const options = (streams: LambdaStreamOptions<StreamingEvent>['streams'] = 'pass') => ({
  store: memoryStore(),
  operation: 'reports/make',
  scope: 'public' as const,
  streams,
});
const RECORDED = { recordUpTo: 100_000 };
const PROBLEM = { headers: { 'content-type': 'application/problem+json' } };

async function* chunksOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* chunks;
}

beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
afterEach(() => void vi.unstubAllGlobals());

describe.each([
  ['with the global of the runtime', true],
  ['without it, as in a unit test', false],
])('streamed answers, %s', (_, hasGlobal) => {
  beforeEach(() => void (hasGlobal || vi.stubGlobal('awslambda', undefined)));

  it('I1 pass: the first answer goes out as the handler gave it, and is not kept', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => {
      runs += 1;
      const headers = { 'content-type': 'text/csv', 'x-request-id': 'trace', 'x-count': 2 };
      return { statusCode: 201, headers, cookies: ['a=1; HttpOnly', 'b=2'], body: Readable.from(chunksOf('a,', 'b')) };
    });
    const first = await invokeStreaming(handler, event, context);
    expect(first).toMatchObject({ contentType: 'application/vnd.awslambda.http-integration-response', thrown: undefined, errorType: undefined });
    expect(first.prelude).toEqual({
      statusCode: 201,
      headers: { 'content-type': 'text/csv', 'x-request-id': 'trace', 'x-count': 2 },
      cookies: ['a=1; HttpOnly', 'b=2'],
    });
    expect(first.body.toString()).toBe('a,b');

    const again = await invokeStreaming(handler, event, context);
    expect(again.prelude).toEqual({ statusCode: 409, ...PROBLEM });
    expect(JSON.parse(again.body.toString())).toMatchObject({ type: 'urn:rerunsafe:problem:result-not-stored', code: 'RESULT_NOT_STORED' });
    expect(runs).toBe(1);
  });

  it('I2 recordUpTo: a replay has status, body bytes and allow-listed headers of the first answer, and no cookies', async () => {
    const bytes = Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe]);
    let runs = 0;
    const handler = idempotentHttp(options(RECORDED), async () => {
      runs += 1;
      const headers = { etag: '"1"', 'x-request-id': 'trace' };
      return { statusCode: 201, headers, cookies: ['a=1'], body: Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]) };
    });
    const first = await invokeStreaming(handler, event, context);
    const again = await invokeStreaming(handler, event, context);
    expect(first.prelude).toMatchObject({ statusCode: 201, cookies: ['a=1'] });
    expect(again.prelude).toEqual({ statusCode: 201, headers: { etag: '"1"', 'Idempotent-Replayed': 'true' } });
    expect([first.body, again.body, runs]).toEqual([bytes, bytes, 1]);
  });

  it.each(
    Object.entries<() => StreamedAnswer['body']>({
      text: () => 'äö',
      bytes: () => Buffer.from('äö'),
      'a Readable': () => Readable.from(['ä', Buffer.from('ö')]),
      'a Readable of text': () => Readable.from([Buffer.from('äö')], { objectMode: false }).setEncoding('utf8'),
      'an async generator': () => chunksOf('ä', Buffer.from('ö')),
      'a ReadableStream': () => ReadableStream.from(chunksOf('ä', Buffer.from('ö'))),
      'the body of a fetch': () => new Response('äö').body as ReadableStream<Uint8Array>,
      'views of memory': () => Readable.from([new DataView(Uint8Array.from(Buffer.from('ä')).buffer), Uint8Array.from(Buffer.from('ö')).buffer]),
    }),
  )('I2 a body may be %s', async (_name, make) => {
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: 200, body: make() }));
    for (let call = 0; call < 2; call += 1) expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('äö');
    const passing = idempotentHttp(options(), async () => ({ statusCode: 200, body: make() }));
    expect((await invokeStreaming(passing, event, context)).body.toString()).toBe('äö');
  });

  it.each<[string, Partial<StreamedAnswer>]>([
    ['none', {}],
    ['null', { body: null }],
    ['empty text', { body: '' }],
    ['an empty stream', { body: Readable.from([]) }],
  ])('I2 an answer without a body has its status: %s', async (_name, given) => {
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: 302, headers: { location: '/elsewhere' }, ...given }));
    const first = await invokeStreaming(handler, event, context);
    const again = await invokeStreaming(handler, event, context);
    expect(first).toMatchObject({ prelude: { statusCode: 302, headers: { location: '/elsewhere' } }, body: Buffer.alloc(0), thrown: undefined });
    expect(again).toMatchObject({ prelude: { statusCode: 302, headers: { location: '/elsewhere' } }, body: Buffer.alloc(0) });
  });
});

describe('what is kept of a streamed answer', () => {
  it('I2 base64 goes out as the bytes that it stands for', async () => {
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: '/wD+', isBase64Encoded: true }));
    for (let call = 0; call < 2; call += 1) {
      const { prelude, body } = await invokeStreaming(handler, event, context);
      expect([prelude?.isBase64Encoded, body]).toEqual([undefined, Buffer.from([0xff, 0, 0xfe])]);
    }
  });

  it('I3 a stream that is longer than recordUpTo goes out whole, is not kept, and the work is not done again', async () => {
    let runs = 0;
    const handler = idempotentHttp(options({ recordUpTo: 4 }), async () => ({ statusCode: 200, body: chunksOf('abc', 'def', `${++runs}`) }));
    expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('abcdef1');
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
    expect(runs).toBe(1);
  });

  it('server-sent events pass, also where streams are recorded', async () => {
    const headers = { 'Content-Type': 'text/event-stream; charset=utf-8' };
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: 200, headers, body: chunksOf('data: 1\n\n') }));
    expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('data: 1\n\n');
    expect((await invokeStreaming(handler, event, context)).prelude).toMatchObject({ statusCode: 409 });
  });

  it('an answer that is no stream is kept with pass, too', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: `run ${++runs}` }));
    for (let call = 0; call < 2; call += 1) expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('run 1');
  });

  it('I1 an answer that is not final goes out with its stream, and the same key runs again', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: ++runs === 1 ? 503 : 200, body: chunksOf(`run ${runs}`) }));
    const bodies: string[] = [];
    for (let call = 0; call < 3; call += 1) bodies.push((await invokeStreaming(handler, event, context)).body.toString());
    expect(bodies).toEqual(['run 1', 'run 2', 'run 2']);
  });

  it('I9 a rejected request leaves no record', async () => {
    const handler = idempotentHttp(options(RECORDED), async ({ body }) =>
      body === 'bad' ? reject({ statusCode: 400, body: chunksOf('what?') }) : { statusCode: 200, body: chunksOf('done') },
    );
    const send = async (body: string) => (await invokeStreaming(handler, httpApiEvent({ headers: KEY, body }), context)).body.toString();
    expect([await send('bad'), await send('good'), await send('good')]).toEqual(['what?', 'done', 'done']);
  });

  it('I1 a stream that was committed goes out; one that was only returned after that is closed', async () => {
    const late = new PassThrough();
    const store = memoryStore();
    const handler = idempotentHttp({ ...options(), store }, async (_event, _context, run) => {
      await run.commit({ statusCode: 201, body: chunksOf('committed') }, ({ id, record, version }) =>
        version === undefined ? store.create(id, record) : store.replace(id, record, version),
      );
      return { statusCode: 200, body: late };
    });
    const { prelude, body } = await invokeStreaming(handler, event, context);
    expect([prelude, body.toString(), late.destroyed]).toEqual([{ statusCode: 201 }, 'committed', true]);
  });

  it('I8 what was found out about an unknown outcome may be a stream', async () => {
    const onUnknown = () => ({ done: { statusCode: 200, body: chunksOf('it had been done') } });
    const handler = idempotentHttp({ ...options(RECORDED), onUnknown }, async () => {
      throw new Error('time-out against the provider');
    });
    expect((await invokeStreaming(handler, event, context)).thrown).toMatchObject({ message: 'time-out against the provider' });
    for (let call = 0; call < 2; call += 1) expect((await invokeStreaming(handler, event, context)).body.toString()).toBe('it had been done');
  });
});

describe('the platforms of streams', () => {
  it('API Gateway REST: a replay has headers and their further lines, as buffered ones have', async () => {
    const multiValueHeaders = { Link: ['</1>', '</2>'], 'Set-Cookie': ['a=1', 'b=2'] };
    const handler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => ({ statusCode: 200, multiValueHeaders, body: 'ok' }));
    expect((await invokeStreaming(handler, restEvent({ headers: KEY }), context)).prelude).toEqual({ statusCode: 200, multiValueHeaders });
    expect((await invokeStreaming(handler, restEvent({ headers: KEY }), context)).prelude).toEqual({
      statusCode: 200,
      headers: { 'Idempotent-Replayed': 'true' },
      multiValueHeaders: { Link: ['</1>', '</2>'] },
    });
  });

  it.each<[string, () => StreamingEvent]>([
    ['REST', () => restEvent({ headers: {} })],
    ['payload 2.0', () => httpApiEvent({ headers: {} })],
  ])('%s: a refusal is a problem in the same stream', async (_, make) => {
    const handler = idempotentHttp<StreamingEvent>(options(), async () => ({ statusCode: 200 }));
    const { prelude, body } = await invokeStreaming(handler, make(), context);
    expect(prelude).toEqual({ statusCode: 400, ...PROBLEM });
    expect(JSON.parse(body.toString())).toMatchObject({ status: 400, code: 'MISSING_KEY' });
  });

  it('what passes through unguarded is streamed, and runs each time', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(RECORDED), async () => ({ statusCode: 200, body: chunksOf(`run ${++runs}`) }));
    for (const body of ['run 1', 'run 2']) {
      expect((await invokeStreaming(handler, httpApiEvent({ method: 'GET', headers: KEY }), context)).body.toString()).toBe(body);
    }
  });

  it('a load balancer takes no streams: refused before anything runs', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200 + runs++ }));
    const balanced = albEvent({ headers: KEY }) as HttpEvent as APIGatewayProxyEventV2;
    const { thrown, prelude } = await invokeStreaming(handler, balanced, context);
    expect(thrown).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching('a load balancer takes no streams') });
    expect([prelude, runs]).toEqual([undefined, 0]);
    // @ts-expect-error And the types say so before.
    expect(idempotentHttp(options(), async (_event: ALBEvent) => ({ statusCode: 200 }))).toBeTypeOf('function');
  });

  it('without a response stream it is refused, and the message says what hides it', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200 + runs++ }));
    await expect(handler(event, context as never, undefined as never)).rejects.toThrow('hides from Lambda that it streams');
    expect(runs).toBe(0);
  });

  it('the runtime knows it for a streaming handler; it keeps its name and fits the types of the platform', () => {
    const handler = idempotentHttp(options(), async function report() {
      return { statusCode: 200 };
    });
    const streamed: StreamifyHandler<APIGatewayProxyEventV2, void> = handler;
    expect([streamed.name, streamed.length]).toEqual(['report', 3]);
    expect(Reflect.get(streamed, Symbol.for('aws.lambda.runtime.handler.streaming'))).toBe('response');
  });

  it('a unit test needs no more than a Writable', async () => {
    vi.stubGlobal('awslambda', undefined);
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: 'ok' }));
    const stream = new PassThrough();
    await handler(event, stream, context);
    expect((await buffer(stream)).toString()).toBe(`{"statusCode":200}${'\0'.repeat(8)}ok`);
  });

  it('streams that make no sense are refused when it is built', () => {
    for (const streams of ['all', { recordUpTo: 0 }, { upTo: 1 }])
      expect(() => idempotentHttp({ ...options(), streams: streams as never }, async () => ({ statusCode: 200 }))).toThrow('streams must be');
  });
});
