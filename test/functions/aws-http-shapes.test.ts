import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { readRequest } from '../../src/adapters/aws-lambda/http/request.ts';
import { type HttpEvent, idempotentHttp } from '../../src/adapters/aws-lambda/index.ts';
import { requestInput } from '../../src/http/request-fingerprint.ts';
import { memoryStore } from '../../src/index.ts';
import { albEvent, type HttpParts, httpApiEvent, lambdaContext, restEvent } from '../support/aws-events.ts';

const KEY = { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };
const context = lambdaContext();
const inputOf = (event: unknown) => requestInput(readRequest(event).view);

const functionUrl = (parts: HttpParts): APIGatewayProxyEventV2 => {
  const event = httpApiEvent(parts);
  return { ...event, requestContext: { ...event.requestContext, domainName: 'abc123.lambda-url.eu-west-1.on.aws' } };
};
const httpApi = (parts: HttpParts, stage: string): APIGatewayProxyEventV2 => {
  const event = httpApiEvent(parts);
  const { http } = event.requestContext;
  const rawPath = `/${stage}${event.rawPath}`;
  return { ...event, rawPath, requestContext: { ...event.requestContext, stage, http: { ...http, path: rawPath } } };
};
/** HTTP API, payload 1.0: all names in lower case, and the path as the client wrote it, stage included. */
const httpApi10 = (parts: HttpParts, stage = '$default'): HttpEvent => {
  const event = restEvent(parts);
  const path = stage === '$default' ? event.path : `/${stage}${event.path}`;
  return { ...event, version: '1.0', path, requestContext: { ...event.requestContext, path, stage } } as HttpEvent;
};
const restAt = (stage: string, path: string, requestPath: string): APIGatewayProxyEvent => {
  const event = restEvent({ headers: KEY, path });
  return { ...event, requestContext: { ...event.requestContext, stage, path: requestPath } };
};

const DELIVERIES: readonly (readonly [string, (parts: HttpParts) => HttpEvent])[] = [
  ['REST', restEvent],
  ['REST, only lines', (parts) => ({ ...restEvent(parts), headers: null, queryStringParameters: null }) as unknown as HttpEvent],
  ['REST, only single values', (parts) => ({ ...restEvent(parts), multiValueHeaders: null }) as unknown as HttpEvent],
  ['HTTP API, payload 1.0', (parts) => httpApi10(parts)],
  ['HTTP API, payload 1.0, named stage', (parts) => httpApi10(parts, 'live')],
  ['HTTP API', httpApiEvent],
  ['HTTP API, named stage', (parts) => httpApi(parts, 'live')],
  ['function URL', functionUrl],
  ['load balancer', (parts) => albEvent(parts)],
  ['load balancer, multi-value', (parts) => albEvent(parts, true)],
];

describe('the same request, however it is delivered', () => {
  const REQUESTS: Readonly<Record<string, HttpParts>> = {
    JSON: { headers: { 'Content-Type': 'application/json; charset=utf-8' }, body: '{"amount":1,"note":"äöü"}' },
    'JSON in base64': { headers: { 'CONTENT-TYPE': 'application/json' }, body: Buffer.from('{ "note": "äöü", "amount": 1 }') },
    bytes: { headers: { 'content-type': 'image/png' }, body: Uint8Array.from([0x89, 0x50, 0, 0xff, 0xfe]) },
    'no body, and no type': {},
    'an empty body': { body: '' },
    'a query': { query: 'b=x%26y&a=%C3%A4' },
    'an escaped path': { path: '/charges/a%20b' },
    'the root': { path: '/' },
  };
  it.each(Object.entries(REQUESTS))('I9 %s: has one fingerprint', (_, parts) => {
    const [first, ...others] = DELIVERIES.map(([, make]) => inputOf(make({ ...parts, headers: { ...KEY, ...parts.headers } })));
    for (const [index, other] of others.entries()) expect(other, DELIVERIES[index + 1]?.[0]).toEqual(first);
  });

  it('I9 several values of one name are told apart, wherever the platform hands all of them over', () => {
    for (const make of [restEvent, httpApiEvent, functionUrl, (parts: HttpParts) => albEvent(parts, true)]) {
      const query = (text: string) => inputOf(make({ query: text })).query;
      expect(query('tag=a&tag=b')).not.toBe(query('tag=b'));
      expect(query('tag=a&tag=b')).not.toBe(query('tag=b&tag=a'));
    }
  });

  it('I9 a body that a middleware has parsed is the same as its text', () => {
    const raw = httpApiEvent({ headers: { ...KEY, 'content-type': 'application/json' }, body: '{"amount":1}' });
    expect(inputOf({ ...raw, body: { amount: 1 } })).toEqual(inputOf(raw));
    expect(inputOf({ ...raw, body: { amount: 2 } })).not.toEqual(inputOf(raw));
  });

  it.each([
    ['REST, its own domain', restAt('live', '/charges', '/live/charges')],
    ['REST, a custom domain without a stage in its mapping', restAt('live', '/live/charges', '/live/charges')],
    ['REST, another stage', restAt('blue', '/charges', '/blue/charges')],
    ['HTTP API, payload 1.0', httpApi10({}, 'green')],
    ['HTTP API', httpApi({}, 'green')],
  ])('I9 the stage is no part of the request: %s', (_, event) => {
    expect(readRequest(event).view.path).toBe('/charges');
  });

  it.each([
    ['a resource that is named as the stage', restAt('live', '/live/charges', '/live/live/charges'), '/live/charges'],
    ['a resource that only begins as the stage', httpApi({ path: '' }, 'live'), '/'],
    ['a path that only begins as the stage', { ...httpApi({}, 'live'), rawPath: '/lively' }, '/lively'],
    ['a base path of a custom domain', restAt('live', '/v1/charges', '/v1/charges'), '/v1/charges'],
    ['a function URL', functionUrl({ path: '/$default/charges' }), '/$default/charges'],
  ])('I9 what is part of it: %s', (_, event, path) => {
    expect(readRequest(event).view.path).toBe(path);
  });
});

describe('requests with hardly anything in them', () => {
  const health = { requestContext: { elb: { targetGroupArn: 'arn' } }, httpMethod: 'GET', path: '/health', body: '', isBase64Encoded: false };
  it.each([
    ['without headers', health],
    ['with one', { ...health, headers: { 'user-agent': 'ELB-HealthChecker/2.0' }, queryStringParameters: {} }],
    ['with one line', { ...health, multiValueHeaders: { 'user-agent': ['ELB-HealthChecker/2.0'] } }],
  ])('a health check %s passes through', async (_, event) => {
    const handler = idempotentHttp({ store: memoryStore(), operation: 'o', scope: 'public' }, async (_event: ALBEvent) => ({ statusCode: 200 }));
    expect(await handler(event, context)).toEqual({ statusCode: 200 });
  });

  it('everything that may be null or absent is read as empty', async () => {
    const bare = {
      headers: null,
      multiValueHeaders: null,
      queryStringParameters: null,
      multiValueQueryStringParameters: { flag: [null], gone: null },
    };
    const events = [
      { ...restEvent(), ...bare, body: undefined, isBase64Encoded: undefined },
      { version: '2.0', rawPath: '/charges', requestContext: { http: { method: 'post' } } },
      { ...health, httpMethod: 'POST', body: null },
    ];
    const handler = idempotentHttp({ store: memoryStore(), operation: 'o', scope: 'public' }, async () => 'never');
    for (const event of events) expect(await handler(event as never, context)).toMatchObject({ statusCode: 400 });
    const { query, body } = readRequest(events[0]).view;
    expect([query, body.byteLength]).toEqual(['flag=', 0]);
  });
});

describe('what is no request of these platforms is refused before anything runs', () => {
  it.each([
    ['a WebSocket message', { requestContext: { connectionId: 'L0SM9cOFvHcCIhw=', routeKey: 'buy', eventType: 'MESSAGE' }, body: '{}' }],
    ['a request of VPC Lattice', { method: 'POST', raw_path: '/charges', headers: {}, body: '{}', is_base64_encoded: false }],
    [
      'a request of VPC Lattice',
      { version: '2.0', method: 'POST', path: '/charges', headers: {}, requestContext: { serviceArn: 'arn:aws:vpc-lattice:…' } },
    ],
    ['the event', { Records: [{ cf: { request: { method: 'POST', uri: '/charges' } } }] }],
    ['the event', null],
  ])('%s', async (name, event) => {
    let runs = 0;
    const handler = idempotentHttp({ store: memoryStore(), operation: 'o', scope: 'public' }, async () => ++runs);
    await expect(handler(event as never, context)).rejects.toThrow(`${name} is no HTTP request of API Gateway, a function URL or a load balancer`);
    expect(runs).toBe(0);
  });
});
