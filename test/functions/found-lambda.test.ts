import { globSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Context, SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type HttpEvent, idempotent, idempotentEach, idempotentHttp, singleton } from '../../src/adapters/aws-lambda/index.ts';
import { type RecordStore, RerunSafeError, storeLeases } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { albEvent, httpApiEvent, lambdaContext, restEvent, scheduledEvent, sqsEvent } from '../support/aws-events.ts';

const KEY = { 'Idempotency-Key': '"k-1"' };
const http = (store: RecordStore = memoryStore()) => ({ store, operation: 'payments/charge', scope: 'public' as const });
const each = (store: RecordStore = memoryStore()) => ({ store, operation: 'orders/take', key: ({ body }: SQSRecord) => body });
const down = () => Promise.reject(new RerunSafeError('STORE_UNAVAILABLE', 'down'));
const hangs = () => new Promise<never>(() => {});

/** A context whose time runs out `limitMs` from now, and what is left of it when something has ended. */
function limited(limitMs: number): { readonly context: Context; leftMs(): number } {
  const end = performance.now() + limitMs;
  const leftMs = () => end - performance.now();
  return { context: lambdaContext(() => Math.max(0, leftMs())), leftMs };
}

describe('the store fails while an invocation has little time left', () => {
  it('I2 down at the completion: the caller gets the answer before the time limit, not a time-out', async () => {
    const store: RecordStore = { ...memoryStore(), replace: down };
    const handler = idempotentHttp(http(store), async () => ({ statusCode: 201, body: 'charged' }));
    const { context, leftMs } = limited(1_500);
    expect(await handler(httpApiEvent({ headers: KEY }), context)).toMatchObject({ statusCode: 201, body: 'charged' });
    expect(leftMs()).toBeGreaterThan(0);
  });

  it('I2 hanging at the completion: the caller gets the answer before the time limit, not a time-out', async () => {
    const store: RecordStore = { ...memoryStore(), replace: hangs };
    const handler = idempotent({ store, operation: 'o', key: () => 'k' }, async () => 'charged');
    const { context, leftMs } = limited(1_500);
    expect(await handler({}, context)).toBe('charged');
    expect(leftMs()).toBeGreaterThan(0);
  });

  it('I12 down at the completion of one message: the batch is answered before the time limit', async () => {
    const memory = memoryStore();
    const store: RecordStore = {
      ...memory,
      replace: (id, record, version, options) => (record.label === 'bad' ? down() : memory.replace(id, record, version, options)),
    };
    const consume = idempotentEach({ ...each(store), concurrency: 1 }, () => {});
    const { context, leftMs } = limited(2_500);
    await consume(sqsEvent({ body: 'good' }, { body: 'bad' }), context);
    expect(leftMs()).toBeGreaterThan(0);
  });

  it('I12 hanging at the claim: the answer is 503, before the time limit', async () => {
    const store: RecordStore = { ...memoryStore(), create: hangs, read: hangs };
    const handler = idempotentHttp(http(store), async () => ({ statusCode: 201, body: 'never' }));
    const { context, leftMs } = limited(1_500);
    const answer = await handler(httpApiEvent({ headers: KEY }), context).catch((error: unknown) => error);
    expect([answer, leftMs() > 0]).toMatchObject([{ statusCode: 503, headers: { 'retry-after': '1' } }, true]);
  });
});

describe('requests of unusual shape', () => {
  it('cookies, headers and parameters that are null', async () => {
    const handler = idempotentHttp({ ...http(), required: false }, async (_event: HttpEvent) => ({ statusCode: 200, body: 'ok' }));
    const nulls = { cookies: null, headers: null, multiValueHeaders: null, queryStringParameters: null, multiValueQueryStringParameters: null };
    for (const event of [httpApiEvent(), restEvent(), albEvent()]) {
      expect(await handler({ ...event, ...nulls, body: null } as unknown as HttpEvent, lambdaContext())).toMatchObject({ statusCode: 200 });
    }
  });

  it('no context at all, or one without a time', async () => {
    for (const context of [undefined, {}, { getRemainingTimeInMillis: () => undefined }] as unknown as Context[]) {
      const handler = idempotentHttp(http(), async () => ({ statusCode: 200, body: 'ok' }));
      expect(await handler(httpApiEvent({ headers: KEY }), context)).toMatchObject({ statusCode: 200 });
    }
  });

  it.each<[string, unknown]>([
    ['a status out of range', { statusCode: 600, body: '' }],
    ['a body that is no text', { statusCode: 201, body: { id: 1 } }],
    ['JSON that cannot be written', { id: 10n }],
  ])('I6 %s, answered after the work was done, does not make it run again', async (_name, answer) => {
    let runs = 0;
    const handler = idempotentHttp(http(), async () => {
      runs += 1;
      return answer;
    });
    await handler(httpApiEvent({ headers: KEY }), lambdaContext()).catch(() => {});
    await handler(httpApiEvent({ headers: KEY }), lambdaContext()).catch(() => {});
    expect(runs).toBe(1);
  });

  it('I2 an answer that the handler changes afterwards, or returns twice, is replayed as it was', async () => {
    const shared = { statusCode: 201, headers: { etag: '"1"' } as Record<string, string>, body: 'first' };
    const handler = idempotentHttp(http(), async () => shared);
    const first = handler(httpApiEvent({ headers: KEY }), lambdaContext());
    expect(await first).toBe(shared);
    shared.body = 'changed';
    shared.headers.etag = '"2"';
    expect(await handler(httpApiEvent({ headers: KEY }), lambdaContext())).toMatchObject({ body: 'first', headers: { etag: '"1"' } });
    expect(await handler(httpApiEvent({ headers: { 'Idempotency-Key': 'other' } }), lambdaContext())).toBe(shared);
  });
});

describe('batches', () => {
  it('I1 two records with one message id and different keys: both come back when one fails', async () => {
    const event = sqsEvent({ body: 'a' }, { body: 'b' });
    for (const record of event.Records) record.messageId = 'same';
    const consume = idempotentEach({ ...each(), onItemFailed: () => {} }, ({ body }) => {
      if (body === 'b') throw new Error('no');
    });
    expect(await consume(event, lambdaContext())).toEqual({ batchItemFailures: [{ itemIdentifier: 'same' }] });
  });

  it('10,000 records of one group, and nothing at all', async () => {
    let seen = 0;
    const consume = idempotentEach(each(), () => {
      seen += 1;
    });
    const records = Array.from({ length: 10_000 }, (_, n) => ({ body: `${n}`, group: 'g' }));
    expect(await consume(sqsEvent(...records), lambdaContext())).toEqual({ batchItemFailures: [] });
    expect(await consume(sqsEvent(), lambdaContext())).toEqual({ batchItemFailures: [] });
    expect(seen).toBe(10_000);
  });

  it('a throw before the first await fails its record alone', async () => {
    const consume = idempotentEach({ ...each(), onItemFailed: () => {} }, ({ body }) => {
      if (body === 'b') throw undefined;
    });
    const answer = await consume(sqsEvent({ body: 'a' }, { body: 'b' }, { body: 'c' }), lambdaContext());
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
  });

  it('I12 a hook for failed records that is asynchronous ends before the invocation does', async () => {
    let ended = false;
    const onItemFailed = async () => {
      await pause(20);
      ended = true;
    };
    const consume = idempotentEach({ ...each(), onItemFailed }, () => Promise.reject(new Error('no')));
    await consume(sqsEvent({ body: 'a' }), lambdaContext());
    expect(ended).toBe(true);
  });

  it('I12 concurrent invocations share nothing, and no timer is left behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const consume = idempotentEach({ ...each(), onItemFailed: () => {} }, async ({ body }) => {
      await pause(5);
      if (body.startsWith('bad')) throw new Error('no');
    });
    const one = consume(sqsEvent({ body: 'bad1' }, { body: '1' }), lambdaContext());
    const two = consume(sqsEvent({ body: '2' }, { body: 'bad2' }), lambdaContext());
    expect(await Promise.all([one, two])).toEqual([
      { batchItemFailures: [{ itemIdentifier: 'm1' }] },
      { batchItemFailures: [{ itemIdentifier: 'm2' }] },
    ]);
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe('schedules', () => {
  const job = () => {
    const ran: string[] = [];
    const handler = singleton<{ readonly time?: unknown }>({ leases: storeLeases(memoryStore()), name: 'n', onSkipped: () => {} }, async (event) => {
      ran.push(String(event.time));
    });
    return { ran, run: (time: unknown) => handler({ ...scheduledEvent(), time }, lambdaContext()) };
  };

  it('I3 a run by hand for a moment still to come does not cancel the scheduled runs', async () => {
    const { ran, run } = job();
    await run('2099-01-01T00:00:00Z');
    const now = new Date().toISOString();
    await run(now);
    expect(ran).toEqual(['2099-01-01T00:00:00Z', now]);
  });

  it.each([undefined, null, 5, '', 'soon', '0001-01-01T00:00:00Z'])('a scheduled event with the time %j runs, without a slot', async (time) => {
    const { ran, run } = job();
    await run(time);
    await run(time);
    expect(ran.length).toBe(2);
  });

  it('I12 a wait for the holder ends before the time limit, and skips', async () => {
    const leases = storeLeases(memoryStore());
    await leases.acquire('n', { owner: 'somebody', leaseMs: 60_000 });
    const skipped: string[] = [];
    const handler = singleton({ leases, name: 'n', slot: false, onHeld: { waitMs: 60_000 }, onSkipped: ({ kind }) => skipped.push(kind) }, () => 1);
    const { context, leftMs } = limited(1_500);
    expect(await handler({}, context)).toBeUndefined();
    expect([skipped, leftMs() > 0]).toEqual([['held'], true]);
  });

  it.each(['acquire', 'release'] as const)('I12 a lease provider that hangs at %s: the invocation ends before the time limit', async (method) => {
    const leases = Object.assign(storeLeases(memoryStore()), { [method]: hangs });
    const { context, leftMs } = limited(1_500);
    const handler = singleton({ leases, name: 'n', slot: false }, () => 'report');
    await handler({}, context).catch(() => {});
    expect(leftMs()).toBeGreaterThan(0);
  });
});

it('I1 the documents never show a scope that turns a missing claim into a name that all share', () => {
  const missing = { requestContext: { authorizer: { jwt: { claims: {} as Record<string, string> } } } };
  expect(String(missing.requestContext.authorizer.jwt.claims.sub)).toBe('undefined');
  for (const file of ['README.md', 'src/adapters/aws-lambda/http/idempotent-http.ts', ...globSync('docs/*.md')]) {
    expect(readFileSync(file, 'utf8'), file).not.toContain('String(event.requestContext.authorizer.jwt.claims.sub)');
  }
});
