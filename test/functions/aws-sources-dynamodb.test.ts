import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BatchEvent, type BatchRecord, ItemsFailedError, idempotentEach, keys } from '../../src/adapters/aws-lambda/index.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { lambdaContext, sqsEvent } from '../support/aws-events.ts';
import {
  activeMqEvent,
  dynamodbNumber,
  dynamodbStreamEvent,
  kafkaEvent,
  kinesisEvent,
  kinesisNumber,
  rabbitMqEvent,
} from '../support/aws-source-events.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from '../support/dynamodb.ts';

const IDS = ['a', 'b', 'c', 'd'];
const reported = (...itemIdentifiers: readonly unknown[]) => ({ batchItemFailures: itemIdentifiers.map((itemIdentifier) => ({ itemIdentifier })) });
const bodies = IDS.map((body) => ({ body }));

/** Four records, of which the third fails: what each source is told, and which of them were done then. */
const SOURCES = [
  { name: 'SQS standard', event: sqsEvent(...bodies), key: keys.sqsMessageId, answer: reported('m3'), done: ['a', 'b', 'd'] },
  {
    name: 'SQS FIFO',
    event: sqsEvent(...bodies.map(({ body }, n) => ({ body, group: n === 1 ? 'other' : 'g' }))),
    key: keys.sqsDeduplicationId,
    answer: reported('m3', 'm4'),
    done: ['a', 'b'],
  },
  { name: 'Kinesis', event: kinesisEvent(...bodies), key: keys.kinesisSequenceNumber, answer: reported(kinesisNumber(3)), done: ['a', 'b'] },
  {
    name: 'DynamoDB streams',
    event: dynamodbStreamEvent(...bodies),
    key: keys.dynamodbStreamEvent,
    answer: reported(dynamodbNumber(3)),
    done: ['a', 'b'],
  },
  {
    name: 'MSK',
    event: kafkaEvent(...bodies.map(({ body }, n) => ({ body, partition: n === 1 ? 1 : 0 }))),
    key: keys.kafkaOffset,
    answer: reported({ partition: 'orders-0', offset: 3 }, { partition: 'orders-0', offset: 4 }),
    done: ['a', 'b'],
  },
  {
    name: 'self-managed Kafka',
    event: { ...kafkaEvent(...bodies), eventSource: 'SelfManagedKafka' },
    key: keys.kafkaOffset,
    answer: reported({ partition: 'orders-0', offset: 3 }, { partition: 'orders-0', offset: 4 }),
    done: ['a', 'b'],
  },
  { name: 'ActiveMQ', event: activeMqEvent(IDS), key: keys.activeMqMessageId, answer: ItemsFailedError, done: ['a', 'b', 'd'] },
  { name: 'RabbitMQ', event: rabbitMqEvent(IDS), key: keys.rabbitMqMessageId, answer: ItemsFailedError, done: ['a', 'b', 'd'] },
] as const;

function bodyOf(record: BatchRecord): string {
  if ('body' in record) return record.body;
  if ('dynamodb' in record) return record.dynamodb?.NewImage?.body?.S ?? '';
  const data = 'kinesis' in record ? record.kinesis.data : 'value' in record ? record.value : 'data' in record ? record.data : '';
  return Buffer.from(data, 'base64').toString();
}

describe('batches in Lambda over DynamoDB', () => {
  let emulator: Emulator;
  let store: RecordStore;

  beforeAll(async () => {
    emulator = (await javaAvailable()) ? await startDynamoDbLocal() : await startDynalite();
    store = dynamodbStore({ client: emulator.client(), tableName: `batches-${randomUUID()}` });
    await store.setUp?.();
  });
  afterAll(() => emulator?.stop());

  it.each(SOURCES)('I1 I3 $name: what was not done is reported in its own terms, and comes back alone to the handler', async (source) => {
    const { name, event, key, answer, done } = source;
    const effects: string[] = [];
    let broken = true;
    const options = { store, operation: `orders/${name}`, key: key as (record: BatchRecord) => readonly string[], onItemFailed: () => {} };
    const consume = idempotentEach<BatchRecord>(options, async (record) => {
      if (broken && bodyOf(record) === 'c') throw new Error('not yet');
      effects.push(bodyOf(record));
    });
    const deliver = (): Promise<unknown> => consume(event as BatchEvent<BatchRecord>, lambdaContext());

    if (answer === ItemsFailedError) await expect(deliver()).rejects.toThrow(ItemsFailedError);
    else expect(await deliver()).toEqual(answer);
    expect(effects.toSorted()).toEqual(done);
    broken = false;
    for (let delivery = 0; delivery < 2; delivery++) expect(await deliver()).toEqual(answer === ItemsFailedError ? undefined : reported());
    expect(effects.toSorted()).toEqual(IDS);

    const states: string[] = [];
    for await (const { record } of store.list({ operation: `orders/${name}` })) states.push(record.state);
    expect(states).toEqual(Array(4).fill('completed'));
  });
});
