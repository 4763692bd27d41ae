import type { EventBridgeEvent, S3Event, SQSRecord } from 'aws-lambda';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { idempotent, idempotentEach, keys } from '../../src/adapters/aws-lambda/index.ts';
import { keyParts } from '../../src/core/key.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { lambdaContext, sqsEvent } from '../support/aws-events.ts';
import {
  activeMqEvent,
  dynamodbStreamEvent,
  eventBridgeEvent,
  kafkaEvent,
  kinesisEvent,
  kinesisNumber,
  rabbitMqEvent,
  s3Event,
  snsEvent,
} from '../support/aws-source-events.ts';

type Builder = (input: never) => readonly (string | number | bigint)[];

const keyOf = (builder: Builder, input: unknown): string[] => keyParts(builder(input as never));
/** A copy with one entry replaced; undefined takes it out, as JSON does. */
function withEntry(input: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(input);
  const names = path.split('.');
  const last = names.pop() as string;
  const at = names.reduce((entry, name) => entry[name] as Record<string, unknown>, copy as Record<string, unknown>) as Record<string, unknown>;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

const QUEUE = 'arn:aws:sqs:eu-west-1:123456789012:orders.fifo';
const STREAM = 'arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2025-01-01T00:00:00.000';
const fifo = sqsEvent({ body: 'x', group: 'g' }).Records[0];
const kafka = kafkaEvent({ body: 'x', partition: 3, offset: 41 }).records['orders-3']?.[0];

/** `texts`: what must be a text that is not empty. `wholes`: what must be a whole number. */
interface Case {
  readonly name: string;
  readonly builder: Builder;
  readonly input: unknown;
  readonly key: readonly string[];
  readonly texts: readonly string[];
  readonly wholes?: readonly string[];
}

const CASES: readonly Case[] = [
  { name: 'sqsMessageId', builder: keys.sqsMessageId, input: fifo, key: ['m1'], texts: ['messageId'] },
  {
    name: 'sqsDeduplicationId',
    builder: keys.sqsDeduplicationId,
    input: fifo,
    key: [QUEUE, 'g', 'd0'],
    texts: ['eventSourceARN', 'attributes.MessageGroupId', 'attributes.MessageDeduplicationId'],
  },
  {
    name: 'snsMessageId',
    builder: keys.snsMessageId,
    input: snsEvent(),
    key: ['arn:aws:sns:eu-west-1:123456789012:orders', '95df01b4-ee98-5cb9-9903-4c221d41eb5e'],
    texts: ['Records.0.Sns.TopicArn', 'Records.0.Sns.MessageId'],
  },
  {
    name: 's3Object',
    builder: keys.s3Object,
    input: s3Event(),
    key: ['orders', 'red+flower.jpg', 'ObjectCreated:Put', '0055AED6DCD90281E5'],
    texts: ['Records.0.s3.bucket.name', 'Records.0.s3.object.key', 'Records.0.eventName', 'Records.0.s3.object.sequencer'],
  },
  {
    name: 'eventBridgeId',
    builder: keys.eventBridgeId,
    input: eventBridgeEvent(),
    key: ['shop.orders', '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa'],
    texts: ['source', 'id'],
  },
  {
    name: 'kafkaOffset',
    builder: keys.kafkaOffset,
    input: kafka,
    key: ['orders', '3', '41', '1735689600000'],
    texts: ['topic'],
    wholes: ['partition', 'offset', 'timestamp'],
  },
  {
    name: 'kinesisSequenceNumber',
    builder: keys.kinesisSequenceNumber,
    input: kinesisEvent({ body: 'x' }).Records[0],
    key: ['arn:aws:kinesis:eu-west-1:123456789012:stream/orders', 'shardId-000000000006', kinesisNumber(1)],
    texts: ['eventSourceARN', 'eventID', 'kinesis.sequenceNumber'],
  },
  {
    name: 'dynamodbStreamEvent',
    builder: keys.dynamodbStreamEvent,
    input: dynamodbStreamEvent({ body: 'x' }).Records[0],
    key: [STREAM, 'c4ca4238a0b923820dcc509a6f758491'],
    texts: ['eventSourceARN', 'eventID'],
  },
  {
    name: 'activeMqMessageId',
    builder: keys.activeMqMessageId,
    input: activeMqEvent(['x']).messages[0],
    key: ['orders', 'ID:b-9bcfa592-1.mq.eu-west-1.amazonaws.com-37557-1234520418293-4:1:1:1:1'],
    texts: ['destination.physicalName', 'messageID'],
  },
  {
    name: 'rabbitMqMessageId',
    builder: keys.rabbitMqMessageId,
    input: rabbitMqEvent(['x']).rmqMessagesByQueue['orders::/']?.[0],
    key: ['m1'],
    texts: ['basicProperties.messageId'],
  },
];

describe.each(CASES)('keys.$name', ({ name, builder, input, key, texts, wholes = [] }) => {
  const refused = { code: 'MISSING_KEY', message: expect.stringContaining(`keys.${name}: `) };
  const refuses = (given: unknown): void => {
    let key: unknown;
    expect(
      () => {
        key = keyOf(builder, given);
      },
      `${JSON.stringify(given)} has the key ${JSON.stringify(key)}`,
    ).toThrow(expect.objectContaining(refused));
  };

  it('I1 is the key of exactly one message, the same in each delivery', () => {
    expect(keyOf(builder, input)).toEqual(key);
    expect(keyOf(builder, structuredClone(input))).toEqual(key);
  });

  it('I1 another value of any entry is another key', () => {
    for (const path of texts) {
      if (path === 'eventID' || path === 'kinesis.sequenceNumber') continue;
      expect(keyOf(builder, withEntry(input, path, 'other'))).not.toEqual(key);
    }
    for (const path of wholes) expect(keyOf(builder, withEntry(input, path, 77))).not.toEqual(key);
  });

  it('what is missing, empty or of another type is refused', () => {
    for (const path of texts) for (const bad of [undefined, null, '', 7, 0, true, ['x'], { S: 'x' }]) refuses(withEntry(input, path, bad));
    for (const path of wholes) {
      for (const bad of [undefined, null, '', '41', 4.5, -2, Number.NaN, 9_007_199_254_740_992, [41], {}]) refuses(withEntry(input, path, bad));
    }
    for (const bad of [undefined, null, '', 'text', 7, [], {}, [input], { Records: [] }]) refuses(bad);
  });
});

describe('what only one of the builders knows', () => {
  it.each([
    { name: 'snsMessageId', builder: keys.snsMessageId, event: snsEvent() },
    { name: 's3Object', builder: keys.s3Object, event: s3Event() },
  ] as readonly { name: string; builder: Builder; event: { Records: unknown[] } }[])(
    'I1 $name: several records have no one key',
    ({ builder, event }) => {
      const { Records } = event;
      for (const bad of [[...Records, ...Records], [], undefined, { 0: Records[0], length: 1 }, [undefined]]) {
        expect(() => keyOf(builder, { Records: bad })).toThrow(expect.objectContaining({ code: 'MISSING_KEY' }));
      }
    },
  );

  it('I1 S3: a version, what happened, and an object made anew are told apart', () => {
    const path = 'Records.0.s3.object.';
    const event = s3Event();
    const versioned = withEntry(event, `${path}versionId`, '096fKKXTRTtl3on89fVO.nfljtsv6qko');
    const others = [
      versioned,
      withEntry(event, 'Records.0.eventName', 'ObjectRemoved:Delete'),
      withEntry(event, `${path}sequencer`, '0055AED6DCD90281E6'),
      withEntry(event, `${path}key`, 'red%2Bflower.jpg'),
    ].map((other) => keyOf(keys.s3Object, other).join());
    expect(new Set([keyOf(keys.s3Object, event).join(), ...others]).size).toBe(5);
    for (const none of ['', null]) expect(keyOf(keys.s3Object, withEntry(event, `${path}versionId`, none))).toEqual(keyOf(keys.s3Object, event));
    expect(() => keyOf(keys.s3Object, withEntry(event, `${path}versionId`, 7))).toThrow(expect.objectContaining({ code: 'MISSING_KEY' }));
    expect(() => keyOf(keys.s3Object, { Service: 'Amazon S3', Event: 's3:TestEvent', Bucket: 'orders' })).toThrow(/Records is missing/);
  });

  it('I1 SQS FIFO: one deduplication id in two queues or groups is two messages; a standard queue has none', () => {
    const of = (path: string) => keyOf(keys.sqsDeduplicationId, withEntry(fifo, path, 'other')).join();
    expect(new Set([of('eventSourceARN'), of('attributes.MessageGroupId'), keyOf(keys.sqsDeduplicationId, fifo).join()]).size).toBe(3);
    expect(() => keyOf(keys.sqsDeduplicationId, sqsEvent({ body: 'x' }).Records[0])).toThrow(/attributes\.MessageGroupId is missing/);
  });

  it('Kafka: a record without a time has one key all the same', () => {
    expect(keyOf(keys.kafkaOffset, withEntry(kafka, 'timestamp', -1))).toEqual(['orders', '3', '41', '-1']);
  });

  it('Kinesis: an event id that does not belong to the sequence number is refused', () => {
    const [record] = kinesisEvent({ body: 'x' }).Records;
    for (const eventID of [kinesisNumber(1), `:${kinesisNumber(1)}`, `shardId-000000000006:${kinesisNumber(2)}`]) {
      expect(() => keyOf(keys.kinesisSequenceNumber, { ...record, eventID })).toThrow(expect.objectContaining({ code: 'MISSING_KEY' }));
    }
  });

  it('webhooks have theirs, as on every platform', () => {
    expect(keys.gitHubDelivery({ 'X-GitHub-Delivery': 'g-1' })).toEqual(['g-1']);
    expect(keys.standardWebhook({ 'webhook-id': 'w-1' })).toEqual(['w-1']);
    expect(keys.stripeEvent({ object: 'event', id: 'evt_1' })).toEqual(['evt_1']);
    expect(keys.cloudEvent({ source: '/s', id: 'c-1' })).toEqual(['/s', 'c-1']);
    expect(keys.cloudEventHeaders({ 'ce-source': '/s', 'ce-id': 'c-1' })).toEqual(['/s', 'c-1']);
  });
});

describe('builders in the place of a key', () => {
  const common = { store: memoryStore(), operation: 'orders/ship' };
  const context = lambdaContext();

  it('I1 idempotent: an event that comes again is a replay, one that has no key does not run', async () => {
    let runs = 0;
    const handler = idempotent({ ...common, key: keys.eventBridgeId }, async (event: EventBridgeEvent<'OrderPaid', { readonly orderId: string }>) => {
      runs += 1;
      return event.detail.orderId;
    });
    for (let delivery = 0; delivery < 3; delivery++) expect(await handler(eventBridgeEvent(), context)).toBe('o-1');
    await expect(handler({ ...eventBridgeEvent(), id: '' }, context)).rejects.toMatchObject({ code: 'MISSING_KEY' });
    expect(runs).toBe(1);
  });

  it('I1 idempotentEach: each record by its own id', async () => {
    const done: string[] = [];
    const consume = idempotentEach({ ...common, key: keys.sqsMessageId, onItemFailed: () => {} }, (record) => done.push(record.body));
    for (let delivery = 0; delivery < 2; delivery++) {
      expect(await consume(sqsEvent({ body: 'a' }, { body: 'a' }), context)).toEqual({ batchItemFailures: [] });
    }
    expect(done).toEqual(['a', 'a']);
  });

  it('the event or record is that of the key', () => {
    idempotent({ ...common, key: keys.s3Object }, (event) => expectTypeOf(event).toEqualTypeOf<S3Event>());
    idempotentEach({ ...common, key: keys.sqsDeduplicationId }, (record) => expectTypeOf(record).toEqualTypeOf<SQSRecord>());
    idempotentEach({ ...common, key: (record) => record.body }, (record) => expectTypeOf(record).toEqualTypeOf<SQSRecord>());
  });
});
