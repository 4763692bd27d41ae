import { Readable } from 'node:stream';
import type { ALBEvent, APIGatewayProxyEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { idempotentHttp, reject } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore, RerunSafeError } from '../../src/index.ts';
import { albEvent, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

const headers = { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
const options = () => ({ store: memoryStore(), operation: 'orders/take', scope: 'public' as const });
const context = lambdaContext();

describe('a Lambda function', () => {
  it('I9 may reject in every shape: a corrected request uses the same key', async () => {
    const answer = (body: string | null | undefined) =>
      body === 'bad' ? reject({ statusCode: 400, body: 'what?' }) : { statusCode: 201, body: 'taken' };
    const rest = idempotentHttp(options(), async (event: APIGatewayProxyEvent) => answer(event.body));
    const api = idempotentHttp(options(), async (event) => answer(event.body));
    const balanced = idempotentHttp(options(), async (event: ALBEvent) => answer(event.body));
    const sends: ((body: string) => Promise<unknown>)[] = [
      (body) => rest(restEvent({ headers, body }), context),
      (body) => api(httpApiEvent({ headers, body }), context),
      (body) => balanced(albEvent({ headers, body }), context),
    ];
    for (const send of sends) {
      expect(await send('bad')).toEqual({ statusCode: 400, body: 'what?' });
      expect(await send('good')).toEqual({ statusCode: 201, body: 'taken' });
      expect(await send('good')).toMatchObject({ statusCode: 201, body: 'taken', isBase64Encoded: false });
      expect(await send('bad')).toMatchObject({ statusCode: 422 });
    }
  });

  it('I3 looks again before a replay', async () => {
    const handler = idempotentHttp({ ...options(), authorizeReplay: (event) => event.headers['x-user'] === 'anna' }, async () => 'secret');
    const as = (user: string) => handler(httpApiEvent({ headers: { ...headers, 'x-user': user } }), context);
    expect(await as('ben')).toBe('secret');
    expect(await as('ben')).toMatchObject({ statusCode: 403, headers: { 'content-type': 'application/problem+json' } });
    expect(await as('anna')).toMatchObject({ statusCode: 200, body: 'secret' });
  });

  it('I3 refuses a time-ordered key that is older than the retention', async () => {
    const handler = idempotentHttp(options(), async () => 'ran');
    const event = httpApiEvent({ headers: { 'Idempotency-Key': '017f22e2-79b0-7cc3-98c4-dc0c0c07398f' } });
    const answer = await handler(event, context);
    expect(answer).toMatchObject({ statusCode: 400 });
    expect(JSON.parse(String(answer.body))).toMatchObject({ type: 'urn:rerunsafe:problem:key-expired' });
  });

  it('says where the choice of streams is missing', async () => {
    const handler = idempotentHttp(options(), async () => ({ statusCode: 200, body: Readable.from(['a']) }));
    const event = httpApiEvent({ headers });
    await expect(handler(event, context)).rejects.toThrow("the option streams ('pass', or { recordUpTo: bytes })");
    expect(await handler(event, context)).toMatchObject({ statusCode: 409 });
  });

  it('says in the log why a caller got a problem of ours, and not to the caller', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {});
    const store = memoryStore();
    const down = new RerunSafeError('STORE_UNAVAILABLE', 'ECONNREFUSED 10.0.0.1:8000');
    const broken = { ...store, create: () => Promise.reject(down), read: () => Promise.reject(down) };
    const handler = idempotentHttp({ ...options(), store: broken }, async () => 'never');
    const answer = await handler(httpApiEvent({ headers }), context);
    expect(answer).toMatchObject({ statusCode: 503, headers: { 'retry-after': '1' } });
    expect(answer.body).not.toContain('10.0.0.1');
    expect(said.mock.calls).toEqual([['orders/take: answered with a problem:', down]]);
    said.mockRestore();
  });
});
