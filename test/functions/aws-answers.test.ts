import { PassThrough, type Readable } from 'node:stream';
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyHandler } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type HttpEvent, idempotentHttp } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { albEvent, type HttpParts, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

const KEY = { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
const options = () => ({ store: memoryStore(), operation: 'payments/charge', scope: 'public' as const });
const context = lambdaContext();

describe('the shapes of answers', () => {
  const two = { 'Set-Cookie': ['a=1; HttpOnly', 'b=2'], Link: ['</1>; rel=next', '</9>; rel=last'], 'Content-Type': ['text/plain'] };

  it('payload 1.0: the first answer is what the handler returned; a replay has every line, and no cookie', async () => {
    const returned = { statusCode: 200, multiValueHeaders: two, body: 'ok' };
    const handler: APIGatewayProxyHandler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => returned);
    const call = handler as unknown as (event: APIGatewayProxyEvent, given: typeof context) => Promise<unknown>;
    expect(await call(restEvent({ headers: KEY }), context)).toBe(returned);
    expect(await call(restEvent({ headers: KEY }), context)).toEqual({
      statusCode: 200,
      headers: { 'Content-Type': 'text/plain', 'Idempotent-Replayed': 'true' },
      multiValueHeaders: { Link: ['</1>; rel=next', '</9>; rel=last'] },
      body: 'ok',
      isBase64Encoded: false,
    });
  });

  it('payload 2.0: cookies go out once and are never stored', async () => {
    const returned = { statusCode: 200, headers: { etag: '"1"' }, cookies: ['a=1; HttpOnly', 'b=2'], body: 'ok' };
    const store = memoryStore();
    const handler = idempotentHttp({ ...options(), store }, async () => returned);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toBe(returned);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toEqual({
      statusCode: 200,
      headers: { etag: '"1"', 'Idempotent-Replayed': 'true' },
      body: 'ok',
      isBase64Encoded: false,
    });
    for await (const listed of store.list({})) expect(JSON.stringify(listed.record)).not.toContain('HttpOnly');
  });

  it.each([
    ['an object', { id: 1 }, '{"id":1}'],
    ['a string', 'hello', 'hello'],
    ['nothing', undefined, 'null'],
  ])('payload 2.0: %s without a statusCode is the body of a 200, on a replay too', async (_name, returned, body) => {
    const handler = idempotentHttp(options(), async () => returned);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toEqual(returned);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toEqual({
      statusCode: 200,
      headers: { 'content-type': 'application/json', 'Idempotent-Replayed': 'true' },
      body,
      isBase64Encoded: false,
    });
  });

  it('a load balancer gets a status line, and headers in the one form it reads', async () => {
    for (const multiValue of [false, true]) {
      const returned = { statusCode: 202, statusDescription: '202 Taken', multiValueHeaders: two, body: 'ok' };
      const handler = idempotentHttp(options(), async (_event: ALBEvent) => returned);
      expect(await handler(albEvent({ headers: KEY }, multiValue), context)).toBe(returned);
      expect(await handler(albEvent({ headers: KEY }, multiValue), context)).toEqual({
        statusCode: 202,
        statusDescription: '202 Accepted',
        body: 'ok',
        isBase64Encoded: false,
        ...(multiValue
          ? { multiValueHeaders: { Link: two.Link, 'Content-Type': ['text/plain'], 'Idempotent-Replayed': ['true'] } }
          : { headers: { Link: '</1>; rel=next, </9>; rel=last', 'Content-Type': 'text/plain', 'Idempotent-Replayed': 'true' } }),
      });
    }
  });

  it('a header given both singly and in lines counts once', async () => {
    const handler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => ({
      statusCode: 200,
      headers: { link: '</1>', etag: '"2"' },
      multiValueHeaders: { Link: ['</1>', '</2>'] },
      body: '',
    }));
    await handler(restEvent({ headers: KEY }), context);
    expect(await handler(restEvent({ headers: KEY }), context)).toMatchObject({
      headers: { etag: '"2"', 'Idempotent-Replayed': 'true' },
      multiValueHeaders: { Link: ['</1>', '</2>'] },
    });
  });

  it.each([[undefined], [{ body: 'no status' }], [{ statusCode: 'x' }], [{ statusCode: 200, body: { not: 'text' } }]])(
    'payload 1.0: a malformed answer (%j) is an error of the handler',
    async (returned) => {
      const handler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => returned as never);
      await expect(handler(restEvent({ headers: KEY }), context)).rejects.toThrow(TypeError);
    },
  );
});

const SHAPES: readonly (readonly [string, (parts: HttpParts) => HttpEvent])[] = [
  ['payload 1.0', restEvent],
  ['payload 2.0', httpApiEvent],
  ['load balancer', (parts) => albEvent(parts)],
  ['load balancer, multi-value', (parts) => albEvent(parts, true)],
];

/** What the platform makes of a result: status, the lines of its headers, bytes. */
function seen(result: unknown): { status: number; lines: Record<string, string[]>; body: Buffer } {
  const { statusCode, headers = {}, multiValueHeaders = {}, cookies, body = '', isBase64Encoded } = result as Record<string, never>;
  const lines: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(multiValueHeaders as Record<string, unknown[]>)) lines[name.toLowerCase()] = value.map(String);
  for (const [name, value] of Object.entries(headers)) lines[name.toLowerCase()] ??= [String(value)];
  if (cookies !== undefined) lines['set-cookie'] = cookies;
  return { status: Number(statusCode), lines, body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8') };
}

describe.each(SHAPES)('a replay looks to the client as the first answer did, without cookies: %s', (shape, make) => {
  const many = shape === 'load balancer, multi-value';
  const lined = (headers: Record<string, boolean | number | string>) =>
    many ? { multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])) } : { headers };
  const cookies = { 'payload 2.0': { cookies: ['a=1', 'b=2'] }, 'load balancer': { headers: { 'Set-Cookie': 'a=1' } } }[shape] ?? {
    multiValueHeaders: { 'Set-Cookie': ['a=1', 'b=2'] },
  };
  const ANSWERS: Readonly<Record<string, object>> = {
    'no body at all': { statusCode: 204 },
    'a body that is null': { statusCode: 200, body: null },
    'an empty body': { statusCode: 200, body: '' },
    'text beyond ASCII': { statusCode: 200, body: 'äö€😀' },
    'bytes that are no text': { statusCode: 200, body: Buffer.from([0xff, 0, 0xfe]).toString('base64'), isBase64Encoded: true },
    'bytes of zero': { statusCode: 200, body: Buffer.alloc(16).toString('base64'), isBase64Encoded: true },
    'an empty body in base64': { statusCode: 200, body: '', isBase64Encoded: true },
    'a status as text': { statusCode: '201', body: 'made' },
    'numbers and truth as header values': { statusCode: 200, ...lined({ etag: 5, 'last-modified': true }) },
    'names in any case': { statusCode: 200, ...lined({ 'CONTENT-type': 'text/html', eTag: '"x"' }) },
    'a redirect': { statusCode: 303, ...lined({ Location: '/charges/1' }) },
    'a refusal that would repeat': { statusCode: 404, body: 'none' },
    cookies: { statusCode: 200, ...cookies },
  };
  it.each(Object.entries(ANSWERS))('I2 %s', async (_, returned) => {
    let runs = 0;
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => {
      runs += 1;
      return returned as never;
    });
    expect(await handler(make({ headers: KEY }), context)).toBe(returned);
    const again = await handler(make({ headers: KEY }), context);
    const { lines, ...rest } = seen(returned);
    const { 'set-cookie': _cookie, ...kept } = lines;
    expect(seen(again)).toEqual({ ...rest, lines: { ...kept, 'idempotent-replayed': ['true'] } });
    expect(runs).toBe(1);
    // The one form that the platform reads, and nothing that it would stumble over.
    expect(again).toMatchObject({ statusCode: expect.any(Number), body: expect.any(String), isBase64Encoded: expect.any(Boolean) });
    expect(Object.keys(again)).not.toContain(many ? 'headers' : 'multiValueHeaders');
  });
});

describe('payload 2.0 infers an answer, and a replay is the same', () => {
  it.each<[string, unknown, string]>([
    ['text that is JSON', '{"statusCode":404}', '{"statusCode":404}'],
    ['a number', 0, '0'],
    ['false', false, 'false'],
    ['an empty text', '', ''],
    ['null', null, 'null'],
    ['a list', [1, { a: undefined }], '[1,{}]'],
    ['an object with a body', { headers: { etag: '1' }, body: 'x' }, '{"headers":{"etag":"1"},"body":"x"}'],
    ['a status that is undefined', { statusCode: undefined, id: 1 }, '{"id":1}'],
  ])('I2 %s', async (_, returned, body) => {
    const handler = idempotentHttp(options(), async () => returned);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toBe(returned);
    const again = await handler(httpApiEvent({ headers: KEY }), context);
    expect(again).toMatchObject({ statusCode: 200, headers: { 'content-type': 'application/json' }, body, isBase64Encoded: false });
  });
});

describe('a stream as an answer, where streams were not chosen', () => {
  it.each<[string, HttpEvent, (body: Readable) => unknown]>([
    ['as the body, payload 1.0', restEvent({ headers: KEY }), (body) => ({ statusCode: 200, body })],
    ['as the body, payload 2.0', httpApiEvent({ headers: KEY }), (body) => ({ statusCode: 200, body })],
    ['as the body, load balancer', albEvent({ headers: KEY }), (body) => ({ statusCode: 200, body })],
    ['as the answer, payload 2.0', httpApiEvent({ headers: KEY }), (body) => body],
  ])('I12 %s: malformed, the option is named, and it is closed', async (_, event, answer) => {
    const body = new PassThrough();
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => answer(body) as never);
    await expect(handler(event, context)).rejects.toThrow("the option streams ('pass', or { recordUpTo: bytes })");
    expect(body.destroyed).toBe(true);
  });
});
