import type { ALBEvent, APIGatewayProxyEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { idempotentHttp, reject } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/index.ts';
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

  it('has no streams to choose about', () => {
    expect(() => idempotentHttp({ ...options(), streams: 'pass' } as never, async () => 'never')).toThrow('streams is not an option');
  });
});
