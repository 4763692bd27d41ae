import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithJWTAuthorizer,
  APIGatewayProxyHandlerV2,
} from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { readRequest } from '../../src/adapters/aws-lambda/http/request.ts';
import { type HttpEvent, idempotentHttp } from '../../src/adapters/aws-lambda/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { albEvent, gate, type HttpParts, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

const KEY = { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
const JSON_HEADERS = { ...KEY, 'Content-Type': 'application/json' };
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff, 0xfe]);
const options = () => ({ store: memoryStore(), operation: 'payments/charge', scope: 'public' as const });
const context = lambdaContext();

const SHAPES: readonly (readonly [name: string, make: (parts: HttpParts) => HttpEvent])[] = [
  ['API Gateway REST (payload 1.0)', restEvent],
  ['HTTP API and function URLs (payload 2.0)', httpApiEvent],
  ['a load balancer with single-value headers', (parts) => albEvent(parts)],
  ['a load balancer with multi-value headers', (parts) => albEvent(parts, true)],
];

/** Every header line of a result, names in lower case. */
function linesOf(result: Record<string, unknown>): Record<string, unknown> {
  const lines: Record<string, unknown> = {};
  for (const [name, value] of Object.entries((result.headers ?? {}) as object)) lines[name.toLowerCase()] = value;
  for (const [name, values] of Object.entries((result.multiValueHeaders ?? {}) as Record<string, string[]>))
    lines[name.toLowerCase()] = values.length === 1 ? values[0] : values;
  return lines;
}

describe.each(SHAPES)('HTTP in Lambda, %s', (_, make) => {
  it('I1 I2 runs the handler once, and replays status, body and allow-listed headers', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async (_event: HttpEvent, _context, run) => {
      runs += 1;
      const headers = { 'content-type': 'application/json', location: '/charges/1', 'x-request-id': 'trace' };
      const lines = make === restEvent || make === httpApiEvent ? { headers } : both(make, headers);
      return { statusCode: 201, ...lines, body: JSON.stringify({ id: 'ch_1', attempt: run.attempt }) };
    });
    const first = (await handler(make({ headers: JSON_HEADERS, body: '{"amount":1}' }), context)) as Record<string, unknown>;
    const again = (await handler(make({ headers: JSON_HEADERS, body: '{"amount":1}' }), context)) as Record<string, unknown>;

    expect(runs).toBe(1);
    expect(first).toMatchObject({ statusCode: 201, body: '{"id":"ch_1","attempt":1}' });
    expect(again).toMatchObject({ statusCode: 201, body: '{"id":"ch_1","attempt":1}', isBase64Encoded: false });
    expect(linesOf(again)).toEqual({ 'content-type': 'application/json', location: '/charges/1', 'idempotent-replayed': 'true' });
  });

  it('I2 gives bytes back exactly, in and out', async () => {
    const seen: unknown[] = [];
    const handler = idempotentHttp(options(), async (event: HttpEvent) => {
      seen.push(event.isBase64Encoded, event.body);
      return { statusCode: 200, headers: { 'content-type': 'image/png' }, body: PNG.toString('base64'), isBase64Encoded: true };
    });
    const request = { headers: { ...KEY, 'content-type': 'image/png' }, body: PNG };
    await handler(make(request), context);
    const again = await handler(make(request), context);

    expect(seen).toEqual([true, PNG.toString('base64')]);
    expect(again).toMatchObject({ statusCode: 200, isBase64Encoded: true, body: PNG.toString('base64') });
  });

  it('I2 keeps text in base64 where the handler wrote it so', async () => {
    const svg = Buffer.from('<svg/>').toString('base64');
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => ({ statusCode: 200, body: svg, isBase64Encoded: true }));
    await handler(make({ headers: KEY }), context);
    expect(await handler(make({ headers: KEY }), context)).toMatchObject({ isBase64Encoded: true, body: svg });
  });

  it('I9 refuses the same key with another body, query or path', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => {
      runs += 1;
      return { statusCode: 200, body: 'ok' };
    });
    const request = { headers: JSON_HEADERS, body: '{"a":1,"b":2}', query: 'dry=1&tag=x&tag=y%20z' };
    await handler(make(request), context);

    expect(await handler(make({ ...request, body: '{ "b": 2, "a": 1 }' }), context)).toMatchObject({ statusCode: 200, body: 'ok' });
    for (const other of [{ body: '{"a":2}' }, { query: 'dry=1&tag=y%20z&tag=z' }, { path: '/refunds' }]) {
      const refused = (await handler(make({ ...request, ...other }), context)) as Record<string, unknown>;
      expect(refused).toMatchObject({ statusCode: 422 });
      expect(JSON.parse(String(refused.body))).toMatchObject({ status: 422, code: 'KEY_REUSED' });
      expect(linesOf(refused)['content-type']).toMatch(/^application\/problem\+json/);
      expect(String(refused.body)).not.toContain('8e03978e');
    }
    expect(runs).toBe(1);
  });

  it('I6 a duplicate that meets the first one at work is told 409, with Retry-After', async () => {
    const inside = gate();
    const go = gate();
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => {
      inside.open();
      await go.opened;
      return { statusCode: 200, body: 'ok' };
    });
    const first = handler(make({ headers: KEY }), context);
    await inside.opened;
    const second = (await handler(make({ headers: KEY }), context)) as Record<string, unknown>;
    go.open();

    expect(second).toMatchObject({ statusCode: 409 });
    expect(Number(linesOf(second)['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(await first).toMatchObject({ statusCode: 200 });
  });

  it('a missing key is 400 and a malformed one too, before the handler runs', async () => {
    const handler = idempotentHttp(options(), async (_event: HttpEvent): Promise<{ statusCode: number; body: string }> => {
      throw new Error('must not run');
    });
    for (const headers of [{}, { 'Idempotency-Key': '"open' }] as Record<string, string>[])
      expect(await handler(make({ headers }), context)).toMatchObject({ statusCode: 400 });
  });

  it('other methods pass through, with a run that guards nothing', async () => {
    const handler = idempotentHttp(options(), async (_event: HttpEvent, _context, run) => ({ statusCode: 200, body: typeof run.fence }));
    expect(await handler(make({ method: 'GET' }), context)).toEqual({ statusCode: 200, body: 'undefined' });
  });

  it('I1 an answer that is not final goes out, and the same key runs again', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => ({ statusCode: runs++ === 0 ? 503 : 200, body: `run ${runs}` }));
    expect(await handler(make({ headers: KEY }), context)).toMatchObject({ statusCode: 503, body: 'run 1' });
    expect(await handler(make({ headers: KEY }), context)).toMatchObject({ statusCode: 200, body: 'run 2' });
    expect(await handler(make({ headers: KEY }), context)).toMatchObject({ statusCode: 200, body: 'run 2' });
  });

  it("the handler's throw goes through untouched, and the same key runs again", async () => {
    const boom = new TypeError('boom');
    let runs = 0;
    const handler = idempotentHttp(options(), async (_event: HttpEvent) => {
      runs += 1;
      if (runs === 1) throw boom;
      return { statusCode: 200, body: 'ok' };
    });
    await expect(handler(make({ headers: KEY }), context)).rejects.toBe(boom);
    expect(await handler(make({ headers: KEY }), context)).toMatchObject({ statusCode: 200 });
  });
});

/** What a load balancer reads: one of the two, as the request came. */
function both(make: (parts: HttpParts) => HttpEvent, headers: Record<string, string>): object {
  return 'multiValueHeaders' in make({})
    ? { multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])) }
    : { headers };
}

describe('what a run can do in HTTP', () => {
  it('I1 I3 a commit with business rows is the answer, whatever the handler does afterwards', async () => {
    const store = memoryStore();
    const handler = idempotentHttp({ ...options(), store }, async (_event, _context, run) => {
      const send = ({ id, record, version }: Parameters<Parameters<NonNullable<typeof run>['commit']>[1]>[0]) =>
        version === undefined ? store.create(id, record) : store.replace(id, record, version);
      await run.commit({ statusCode: 201, body: 'committed' }, send);
      throw new Error('too late to matter');
    });
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toMatchObject({ statusCode: 201, body: 'committed' });
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toMatchObject({ statusCode: 201, body: 'committed' });
  });

  it('I8 an unknown outcome is asked for, and answered as a handler answers', async () => {
    let runs = 0;
    const onUnknown = () => ({ done: { statusCode: 200, headers: { etag: '"found"' }, body: 'it had been done' } });
    const handler = idempotentHttp({ ...options(), onUnknown }, async () => {
      runs += 1;
      throw new Error('time-out against the provider');
    });
    await expect(handler(httpApiEvent({ headers: KEY }), context)).rejects.toThrow('time-out');
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toMatchObject({
      statusCode: 200,
      headers: { etag: '"found"' },
      body: 'it had been done',
    });
    expect(runs).toBe(1);
  });

  it('what passes through unguarded goes out untouched, even when it is malformed', async () => {
    const handler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => ({ odd: true }) as never);
    expect(await handler(restEvent({ method: 'GET' }), context)).toEqual({ odd: true });
  });
});

describe('the request in Lambda', () => {
  it('the query is the same text, whether the platform has decoded it or not, in whatever order it lists the names', () => {
    const query = 'dry=1&tag=x%26y&tag=a%20b';
    for (const event of [restEvent({ query }), httpApiEvent({ query }), albEvent({ query }, true)]) expect(readRequest(event).view.query).toBe(query);
    expect(readRequest(restEvent({ query: 'tag=x%26y&dry=1&tag=a%20b' })).view.query).toBe(query);
    expect(readRequest(albEvent({ query })).view.query).toBe('dry=1&tag=a%20b');
  });

  it('cookies of payload 2.0 and names in any case are found as headers', () => {
    const { view } = readRequest(httpApiEvent({ method: 'patch', headers: { Cookie: 'a=1; b=2', 'X-Tenant': 't' } }));
    expect([view.method, view.header('COOKIE'), view.header('x-tenant'), view.header('absent')]).toEqual(['PATCH', 'a=1; b=2', 't', undefined]);
  });

  it('two lines of the key are no key', async () => {
    const handler = idempotentHttp(options(), async (_event: APIGatewayProxyEvent) => ({ statusCode: 200, body: '' }));
    const event = restEvent({ headers: KEY });
    expect(await handler({ ...event, multiValueHeaders: { 'idempotency-key': ['one', 'two'] } }, context)).toMatchObject({ statusCode: 400 });
  });

  it('the scope comes from the verified claims; without it the answer is 401', async () => {
    const scoped = { ...options(), scope: (event: APIGatewayProxyEvent) => event.requestContext.authorizer?.principalId as string | undefined };
    const handler = idempotentHttp(scoped, async (event) => ({ statusCode: 200, body: String(event.requestContext.authorizer?.principalId) }));
    const event = restEvent({ headers: KEY });
    const as = (authorizer: Record<string, string> | null) => ({ ...event, requestContext: { ...event.requestContext, authorizer } });
    expect(await handler(as({ principalId: 'anna' }), context)).toMatchObject({ body: 'anna' });
    expect(await handler(as({ principalId: 'ben' }), context)).toMatchObject({ body: 'ben' });
    expect(await handler(as(null), context)).toMatchObject({ statusCode: 401 });
  });

  it('an event that is no HTTP request is refused, and nothing runs', async () => {
    let runs = 0;
    const handler = idempotentHttp(options(), async () => runs++);
    for (const event of [undefined, {}, { Records: [] }]) {
      await expect(handler(event as unknown as APIGatewayProxyEventV2, context)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    }
    expect(runs).toBe(0);
  });

  it('events with verified claims keep their type', async () => {
    type Event = APIGatewayProxyEventV2WithJWTAuthorizer;
    const scope = (event: Event) => String(event.requestContext.authorizer.jwt.claims.sub);
    const handler = idempotentHttp({ ...options(), scope }, async (event) => event.requestContext.authorizer.jwt.claims.sub);
    const event = httpApiEvent({ headers: KEY });
    const authorizer = { jwt: { claims: { sub: 'anna' }, scopes: null } };
    expect(await handler({ ...event, requestContext: { ...event.requestContext, authorizer } }, context)).toBe('anna');
  });

  it('the handler keeps its name and takes two parameters; it fits the types of the platform', () => {
    const handler = idempotentHttp(options(), async function charge(event, _context, run) {
      return { statusCode: 200, body: `${event.rawPath}${run.keyFor('x')}` };
    });
    const v2: APIGatewayProxyHandlerV2 = handler;
    const alb: ALBHandler = idempotentHttp(options(), async (event: ALBEvent) => ({ statusCode: 200, body: event.path }));
    expect([v2.name, v2.length, alb.length]).toEqual(['charge', 2, 2]);
  });

  it('everything that is wrong with the options is said at once, when the wrapper is built', () => {
    const wrong = { operation: '', scope: 'all', deadlineMarginMs: -1, signal: new AbortController().signal, colour: 'red' } as never;
    expect(() => idempotentHttp(wrong, async () => 'never')).toThrow(
      /store is missing.*operation must be.*scope must be.*deadlineMarginMs must be.*signal is not an option.*colour is not an option/,
    );
  });
});
