import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyHandler } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotentHttp } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { albEvent, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

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
