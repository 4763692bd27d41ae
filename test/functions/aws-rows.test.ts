/**
 * One row for each event source, as in docs/lambda-events.md: what a duplicate does while the first is at work, and what is stored.
 */
import type { ScheduledEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type BatchEvent,
  type BatchRecord,
  type EachOptions,
  type HttpEvent,
  idempotent,
  idempotentEach,
  idempotentHttp,
  keys,
  type StreamingEvent,
  singleton,
} from '../../src/adapters/aws-lambda/index.ts';
import type { Key } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import type { StoredRecord } from '../../src/core/record.ts';
import { memoryStore, PermanentError, storeLeases } from '../../src/index.ts';
import { albEvent, gate, type HttpParts, httpApiEvent, lambdaContext, restEvent, scheduledEvent, sqsEvent } from '../support/aws-events.ts';
import {
  activeMqEvent,
  dynamodbStreamEvent,
  eventBridgeEvent,
  kafkaEvent,
  kinesisEvent,
  rabbitMqEvent,
  s3Event,
  snsEvent,
} from '../support/aws-source-events.ts';
import { awslambda, invokeStreaming } from '../support/awslambda.ts';

const DAY_MS = 86_400_000;
const context = lambdaContext();

async function recordsOf(store: RecordStore): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const { record } of store.list?.({}) ?? []) records.push(record);
  return records;
}

const HTTP: readonly { readonly name: string; readonly make: (parts: HttpParts) => HttpEvent }[] = [
  { name: 'API Gateway REST', make: restEvent },
  { name: 'HTTP API and function URL', make: httpApiEvent },
  { name: 'load balancer, single-value headers', make: (parts) => albEvent(parts) },
  { name: 'load balancer, multi-value headers', make: (parts) => albEvent(parts, true) },
];
const request = { headers: { 'Idempotency-Key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' }, body: '{}' };

describe.each(HTTP)('$name', ({ make }) => {
  it('stores one record with the response, for 24 h, without its cookies', async () => {
    const store = memoryStore();
    const headers = { 'set-cookie': 'a=secret', 'content-type': 'text/plain' };
    const handler = idempotentHttp<HttpEvent>({ store, operation: 'o', scope: 'public' }, () => ({ statusCode: 201, headers, body: 'made' }));
    for (let time = 0; time < 2; time++) await handler(make(request), context);
    const [record, ...others] = await recordsOf(store);
    expect(others).toEqual([]);
    expect(record).toMatchObject({ state: 'completed', retentionMs: DAY_MS, outcome: { kind: 'value' } });
    expect(JSON.stringify(record)).not.toContain('secret');
  });
});

describe('a streamed answer', () => {
  beforeEach(() => void vi.stubGlobal('awslambda', awslambda));
  afterEach(() => void vi.unstubAllGlobals());
  const answer = async function* () {
    yield 'a,b\n';
  };

  it.each([
    { streams: { recordUpTo: 10 } as const, outcome: { kind: 'value' } },
    { streams: { recordUpTo: 1 } as const, outcome: { kind: 'not-stored' } },
    { streams: 'pass' as const, outcome: { kind: 'not-stored' } },
  ])('stores one record for 24 h: $streams is $outcome', async ({ streams, outcome }) => {
    const store = memoryStore();
    const handler = idempotentHttp({ store, operation: 'o', scope: 'public', streams }, () => ({ statusCode: 200, body: answer() }));
    await invokeStreaming(handler, httpApiEvent(request), context);
    expect(await recordsOf(store)).toEqual([
      expect.objectContaining({ state: 'completed', retentionMs: DAY_MS, outcome: expect.objectContaining(outcome) }),
    ]);
  });

  it.each<{ name: string; event: StreamingEvent }>([
    { name: 'API Gateway REST', event: restEvent(request) },
    { name: 'a function URL', event: httpApiEvent(request) },
  ])('I6 $name: a duplicate in flight is told 409 in the same stream, with Retry-After', async ({ event }) => {
    const [inside, go] = [gate(), gate()];
    const options = { store: memoryStore(), operation: 'o', scope: 'public', streams: { recordUpTo: 10 } } as const;
    const handler = idempotentHttp<StreamingEvent>(options, async () => {
      inside.open();
      await go.opened;
      return { statusCode: 200, body: answer() };
    });
    const first = invokeStreaming(handler, event, context);
    await inside.opened;
    const { prelude } = await invokeStreaming(handler, event, context);
    expect(prelude).toMatchObject({ statusCode: 409, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } });
    go.open();
    expect((await first).body.toString()).toBe('a,b\n');
  });
});

const SINGLE: readonly { readonly name: string; readonly event: unknown; readonly key: (event: never) => Key }[] = [
  {
    name: 'a direct invocation, a task of Step Functions',
    event: { refundId: 'r-1' },
    key: ({ refundId }: { readonly refundId: string }) => refundId,
  },
  { name: 'SNS', event: snsEvent(), key: keys.snsMessageId },
  { name: 'S3', event: s3Event(), key: keys.s3Object },
  { name: 'EventBridge', event: eventBridgeEvent(), key: keys.eventBridgeId },
];

describe.each(SINGLE)('$name', ({ event, key }) => {
  const options = (store: RecordStore) => ({ store, operation: 'o', key: key as (event: unknown) => Key });

  it('I6 a duplicate in flight throws, and does not run; afterwards it is given the value', async () => {
    const [inside, go] = [gate(), gate()];
    let runs = 0;
    const handler = idempotent(options(memoryStore()), async () => {
      runs += 1;
      inside.open();
      await go.opened;
      return { runs };
    });
    const first = handler(event, context);
    await inside.opened;
    await expect(handler(structuredClone(event), context)).rejects.toMatchObject({ code: 'IN_FLIGHT', retryable: true });
    go.open();
    expect([await first, await handler(structuredClone(event), context)]).toEqual([{ runs: 1 }, { runs: 1 }]);
  });

  it('stores one record with the value, for 24 h; a failure leaves it released', async () => {
    const store = memoryStore();
    let fails = true;
    const handler = idempotent(options(store), () => {
      if (fails) throw new Error('not yet');
      return 1;
    });
    await expect(handler(event, context)).rejects.toThrow('not yet');
    expect(await recordsOf(store)).toEqual([expect.objectContaining({ state: 'released' })]);
    fails = false;
    await handler(event, context);
    expect(await recordsOf(store)).toEqual([
      expect.objectContaining({ state: 'completed', retentionMs: DAY_MS, outcome: { kind: 'value', value: expect.anything() } }),
    ]);
  });
});

describe('a schedule', () => {
  const slotOf = async (store: RecordStore): Promise<unknown> => (await recordsOf(store)).map(({ state, slot }) => [state, slot]);
  const time = '2025-01-01T02:00:00Z';
  // As EventBridge Scheduler sends it where no payload was chosen.
  const ofScheduler = {
    ...scheduledEvent(time),
    source: 'aws.scheduler',
    resources: ['arn:aws:scheduler:eu-west-1:1:schedule/default/n'],
    detail: '{}',
  };

  it.each<{ name: string; event: unknown; slot?: (event: never) => string }>([
    { name: 'a rule of EventBridge', event: scheduledEvent(time) },
    { name: 'EventBridge Scheduler', event: ofScheduler },
    { name: 'EventBridge Scheduler with a payload of your own', event: { at: time }, slot: ({ at }: { readonly at: string }) => at },
  ])('I1 stores the last moment that was done, in its lease: $name', async ({ event, slot }) => {
    const store = memoryStore();
    let runs = 0;
    const job = singleton(
      { leases: storeLeases(store), name: 'n', onSkipped: () => {}, ...(slot === undefined ? {} : { slot: slot as (event: unknown) => string }) },
      () => ++runs,
    );
    for (let time = 0; time < 2; time++) await job(event as ScheduledEvent, context);
    expect(runs).toBe(1);
    expect(await slotOf(store)).toEqual([['released', Date.parse(time)]]);
  });
});

const BATCHES: readonly { readonly name: string; readonly event: unknown; readonly key: unknown; readonly inOrder?: true }[] = [
  { name: 'SQS standard', event: sqsEvent({ body: 'a' }, { body: 'b' }), key: keys.sqsMessageId },
  { name: 'SQS FIFO', event: sqsEvent({ body: 'a', group: 'g' }, { body: 'b', group: 'h' }), key: keys.sqsDeduplicationId },
  { name: 'Kinesis', event: kinesisEvent({ body: 'a', of: 'p' }, { body: 'b', of: 'q' }), key: keys.kinesisSequenceNumber, inOrder: true },
  {
    name: 'DynamoDB streams',
    event: dynamodbStreamEvent({ body: 'a', of: 'p' }, { body: 'b', of: 'q' }),
    key: keys.dynamodbStreamEvent,
    inOrder: true,
  },
  { name: 'Kafka', event: kafkaEvent({ body: 'a' }, { body: 'b', partition: 1 }), key: keys.kafkaOffset, inOrder: true },
  { name: 'ActiveMQ', event: activeMqEvent(['a', 'b']), key: keys.activeMqMessageId },
  { name: 'RabbitMQ', event: rabbitMqEvent(['a', 'b']), key: keys.rabbitMqMessageId },
];
const eachOf = (store: RecordStore, key: unknown, more: Partial<EachOptions<BatchRecord>> = {}): EachOptions<BatchRecord> => ({
  store,
  operation: 'o',
  key: key as (record: BatchRecord) => Key,
  concurrency: 2,
  onItemFailed: () => {},
  ...more,
});
type Batch = BatchEvent<BatchRecord>;

describe.each(BATCHES)('$name', ({ event, key }) => {
  it('stores one record for each message, for 7 d: done and without a value, a PermanentError, or released after a failure', async () => {
    const done = memoryStore();
    await idempotentEach(eachOf(done, key), () => 'not kept')(event as Batch, context);
    expect((await recordsOf(done)).map(({ state, retentionMs, outcome }) => [state, retentionMs, outcome?.kind])).toEqual(
      Array(2).fill(['completed', 7 * DAY_MS, 'value']),
    );
    expect(JSON.stringify(await recordsOf(done))).not.toContain('not kept');

    const failing = memoryStore();
    let n = 0;
    const consume = idempotentEach(eachOf(failing, key), () => {
      throw n++ === 0 ? new PermanentError('never') : new Error('not yet');
    });
    await consume(event as Batch, context).then(
      () => {},
      () => {},
    );
    expect((await recordsOf(failing)).map(({ state, outcome }) => [state, outcome?.kind]).sort()).toEqual([
      ['completed', 'error'],
      ['released', undefined],
    ]);
  });
});

describe('a batch that comes back at once', () => {
  it.each(BATCHES.filter(({ inOrder }) => inOrder))(
    'I10 $name: told to wait, it takes over what a dead sandbox has left, and no retry of the service is used up',
    async ({ event, key }) => {
      const store = memoryStore();
      const attempts: number[] = [];
      const consume = idempotentEach(eachOf(store, key, { onInFlight: { waitMs: 10_000 } }), (_record, _context, run) => attempts.push(run.attempt));
      await consume(event as Batch, context);
      for await (const { id, record, version } of store.list({})) {
        const { writtenAtMs: _, outcome: __, ...rest } = record;
        await store.replace(id, { ...rest, state: 'running', leaseMs: 200, revision: 'r', owner: 'of the dead' }, version);
      }
      expect(await consume(event as Batch, context)).toEqual({ batchItemFailures: [] });
      expect(attempts).toEqual([1, 1, 2, 2]);
    },
  );
});

const many = Array.from({ length: 10 }, (_, n) => `m${n}`);
const bodies = many.map((body) => ({ body }));

describe('a batch of ten', () => {
  it.each([
    { name: 'SQS standard', event: sqsEvent(...bodies), atOnce: 8 },
    { name: 'SQS FIFO, ten groups', event: sqsEvent(...many.map((body) => ({ body, group: body }))), atOnce: 8 },
    { name: 'SQS FIFO, one group', event: sqsEvent(...many.map((body) => ({ body, group: 'g' }))), atOnce: 1 },
    { name: 'Kinesis', event: kinesisEvent(...many.map((body) => ({ body, of: body }))), atOnce: 1 },
    { name: 'DynamoDB streams', event: dynamodbStreamEvent(...many.map((body) => ({ body, of: body }))), atOnce: 1 },
    { name: 'Kafka, ten partitions', event: kafkaEvent(...many.map((body, partition) => ({ body, partition }))), atOnce: 8 },
    { name: 'Kafka, one partition', event: kafkaEvent(...bodies), atOnce: 1 },
    { name: 'ActiveMQ', event: activeMqEvent(many), atOnce: 8 },
    { name: 'RabbitMQ', event: rabbitMqEvent(many), atOnce: 8 },
  ])('works on $atOnce at once, where nobody chose: $name', async ({ event, atOnce }) => {
    let [running, most] = [0, 0];
    const consume = idempotentEach<BatchRecord>({ store: memoryStore(), operation: 'o', key: (record) => JSON.stringify(record) }, async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      running -= 1;
    });
    await consume(event as Batch, context);
    expect(most).toBe(atOnce);
  });
});
