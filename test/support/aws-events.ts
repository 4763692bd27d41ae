/**
 * Events and contexts of Lambda as the platforms send them, with only what a test wants to say.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2, Context, ScheduledEvent, SQSEvent, SQSRecord } from 'aws-lambda';

/** `remainingMs` is asked anew each time. */
export function lambdaContext(remainingMs: () => number = () => 30_000): Context {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: 'orders',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:orders',
    memoryLimitInMB: '256',
    awsRequestId: randomUUID(),
    logGroupName: '/aws/lambda/orders',
    logStreamName: '2025/01/01/[$LATEST]abc',
    getRemainingTimeInMillis: remainingMs,
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}

export interface HttpParts {
  readonly method?: string;
  readonly path?: string;
  /** As typed into a browser, without `?`. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

const bodyParts = (body: HttpParts['body']): { body: string | null; isBase64Encoded: boolean } =>
  body === undefined || typeof body === 'string'
    ? { body: body ?? null, isBase64Encoded: false }
    : { body: Buffer.from(body).toString('base64'), isBase64Encoded: true };

const grouped = (query: string, decode: (text: string) => string): Record<string, string[]> => {
  const groups: Record<string, string[]> = {};
  for (const pair of query === '' ? [] : query.split('&')) {
    const [name = '', value = ''] = pair.split('=');
    const key = decode(name);
    groups[key] = [...(groups[key] ?? []), decode(value)];
  }
  return groups;
};

const lastOf = (groups: Readonly<Record<string, string[]>>): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).map(([name, values]) => [name, values.at(-1) ?? '']));
const manyOf = (headers: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

/** API Gateway REST, payload 1.0: names as the client wrote them, parameters decoded. */
export function restEvent({ method = 'POST', path = '/charges', query = '', headers = {}, body }: HttpParts = {}): APIGatewayProxyEvent {
  const parameters = grouped(query, decodeURIComponent);
  return {
    resource: '/charges',
    path,
    httpMethod: method,
    headers: { ...headers },
    multiValueHeaders: manyOf(headers),
    queryStringParameters: query === '' ? null : lastOf(parameters),
    multiValueQueryStringParameters: query === '' ? null : parameters,
    pathParameters: null,
    stageVariables: null,
    requestContext: {
      accountId: '123456789012',
      apiId: 'abc123',
      authorizer: { principalId: 'user-1' },
      protocol: 'HTTP/1.1',
      httpMethod: method,
      identity: { sourceIp: '203.0.113.7', userAgent: 'test' } as APIGatewayProxyEvent['requestContext']['identity'],
      path: `/prod${path}`,
      stage: 'prod',
      requestId: 'c6af9ac6-0000-4000-8000-000000000001',
      requestTimeEpoch: 1_735_689_600_000,
      resourceId: 'xyz',
      resourcePath: '/charges',
    },
    ...bodyParts(body),
  };
}

/** HTTP API, payload 2.0, and function URLs: names in lower case, cookies apart, no null. */
export function httpApiEvent({ method = 'POST', path = '/charges', query = '', headers = {}, body }: HttpParts = {}): APIGatewayProxyEventV2 {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const { cookie, ...rest } = lower;
  const given = bodyParts(body);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    headers: rest,
    ...(cookie === undefined ? {} : { cookies: cookie.split('; ') }),
    requestContext: {
      accountId: '123456789012',
      apiId: 'abc123',
      domainName: 'abc123.execute-api.eu-west-1.amazonaws.com',
      domainPrefix: 'abc123',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'test' },
      requestId: 'JKJaXmPLvHcESHA=',
      routeKey: '$default',
      stage: '$default',
      time: '01/Jan/2025:00:00:00 +0000',
      timeEpoch: 1_735_689_600_000,
    },
    ...(given.body === null ? {} : { body: given.body }),
    isBase64Encoded: given.isBase64Encoded,
  };
}

/** Application Load Balancer: names in lower case, parameters encoded; `multiValue` as the target group is set. */
export function albEvent(parts: HttpParts = {}, multiValue = false): ALBEvent {
  const { method = 'POST', path = '/charges', query = '', headers = {}, body } = parts;
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const parameters = grouped(query, (text) => text);
  const given = bodyParts(body);
  return {
    requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/orders/6d0ecf831eec9f09' } },
    httpMethod: method,
    path,
    ...(multiValue
      ? { multiValueHeaders: manyOf(lower), multiValueQueryStringParameters: parameters }
      : { headers: lower, queryStringParameters: lastOf(parameters) }),
    body: given.body ?? '',
    isBase64Encoded: given.isBase64Encoded,
  };
}

export interface SqsParts {
  readonly body: unknown;
  /** Makes it a record of a FIFO queue. */
  readonly group?: string;
  /** The group id of a fair queue: a standard queue. */
  readonly fairGroup?: string;
}

/** Message ids are `m1`, `m2`, … in order. */
export function sqsEvent(...records: readonly SqsParts[]): SQSEvent {
  return { Records: records.map(sqsRecord) };
}

function sqsRecord({ body, group, fairGroup }: SqsParts, index: number): SQSRecord {
  const queue = group === undefined ? 'orders' : 'orders.fifo';
  const groupId = group ?? fairGroup;
  return {
    messageId: `m${index + 1}`,
    receiptHandle: `receipt-${index + 1}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '1735689600000',
      SenderId: 'AIDAEXAMPLE',
      ApproximateFirstReceiveTimestamp: '1735689600001',
      ...(groupId === undefined ? {} : { MessageGroupId: groupId }),
      ...(group === undefined ? {} : { SequenceNumber: `1884904000000000${index}`, MessageDeduplicationId: `d${index}` }),
    },
    messageAttributes: {},
    md5OfBody: '098f6bcd4621d373cade4e832627b4f6',
    eventSource: 'aws:sqs',
    eventSourceARN: `arn:aws:sqs:eu-west-1:123456789012:${queue}`,
    awsRegion: 'eu-west-1',
  };
}

export function scheduledEvent(time = '2025-01-01T02:00:00Z'): ScheduledEvent {
  return {
    version: '0',
    id: '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa',
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: '123456789012',
    time,
    region: 'eu-west-1',
    resources: ['arn:aws:events:eu-west-1:123456789012:rule/nightly'],
    detail: {},
  };
}

/** Something to wait for, and what ends the wait. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
