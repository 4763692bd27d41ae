/**
 * Events of streams, brokers and services as Lambda gets them.
 *
 * @module
 */
import type { DynamoDBRecord, DynamoDBStreamEvent, EventBridgeEvent, KinesisStreamEvent, MSKEvent, MSKRecord, S3Event, SNSEvent } from 'aws-lambda';
import type { ActiveMqEvent, RabbitMqEvent } from '../../src/adapters/aws-lambda/index.ts';
import { scheduledEvent } from './aws-events.ts';

export interface StreamParts {
  readonly body: unknown;
  /** The partition key in Kinesis, the item's key in DynamoDB. Default `p`. */
  readonly of?: string;
  /** Its place in the shard. Default: its place in the batch, from 1. */
  readonly n?: number;
}

const text = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));
const base64 = (body: unknown): string => Buffer.from(text(body)).toString('base64');
/** Larger than 2^53, as the services make them, and growing with `n`. */
const sequenceNumber = (start: bigint, n: number): string => (start + BigInt(n)).toString();
export const kinesisNumber = (n: number): string => sequenceNumber(49_590_338_271_490_256_608_559_692_538_361_571_095n, n);
export const dynamodbNumber = (n: number): string => sequenceNumber(111_000_000_000_000_000_000n, n);

export function kinesisEvent(...records: readonly StreamParts[]): KinesisStreamEvent {
  return {
    Records: records.map(({ body, of = 'p', n }, index) => ({
      kinesis: {
        kinesisSchemaVersion: '1.0',
        partitionKey: of,
        sequenceNumber: kinesisNumber(n ?? index + 1),
        data: base64(body),
        approximateArrivalTimestamp: 1_735_689_600.123,
      },
      eventSource: 'aws:kinesis',
      eventVersion: '1.0',
      eventID: `shardId-000000000006:${kinesisNumber(n ?? index + 1)}`,
      eventName: 'aws:kinesis:record',
      invokeIdentityArn: 'arn:aws:iam::123456789012:role/lambda-role',
      awsRegion: 'eu-west-1',
      eventSourceARN: 'arn:aws:kinesis:eu-west-1:123456789012:stream/orders',
    })),
  };
}

/** `of` is the partition key of the item; the order of the properties of `Keys` changes from record to record. */
export function dynamodbStreamEvent(...records: readonly StreamParts[]): DynamoDBStreamEvent {
  return { Records: records.map((parts, index) => dynamodbRecord(parts, index)) };
}

function dynamodbRecord({ body, of = 'p', n }: StreamParts, index: number): DynamoDBRecord {
  const keys = [['tenant', { S: of }] as const, ['sort', { N: '1' }] as const];
  return {
    eventID: `c4ca4238a0b923820dcc509a6f75849${(n ?? index + 1).toString(16)}`,
    eventName: 'MODIFY',
    eventVersion: '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: 'eu-west-1',
    dynamodb: {
      ApproximateCreationDateTime: 1_735_689_600,
      Keys: Object.fromEntries(index % 2 === 0 ? keys : keys.toReversed()),
      NewImage: { body: { S: text(body) } },
      SequenceNumber: dynamodbNumber(n ?? index + 1),
      SizeBytes: 26,
      StreamViewType: 'NEW_AND_OLD_IMAGES',
    },
    eventSourceARN: 'arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2025-01-01T00:00:00.000',
  };
}

export interface KafkaParts {
  readonly body: unknown;
  /** Default 0. */
  readonly partition?: number;
  /** Default: its place in the batch, from 1. */
  readonly offset?: number;
}

/** MSK; the records of the topic `orders`, by partition. */
export function kafkaEvent(...parts: readonly KafkaParts[]): MSKEvent {
  const records: Record<string, MSKRecord[]> = {};
  for (const [index, { body, partition = 0, offset }] of parts.entries()) {
    const name = `orders-${partition}`;
    records[name] ??= [];
    records[name].push({
      topic: 'orders',
      partition,
      offset: offset ?? index + 1,
      timestamp: 1_735_689_600_000,
      timestampType: 'CREATE_TIME',
      key: base64('k'),
      value: base64(body),
      headers: [{ traceparent: [48, 48] }],
    });
  }
  return {
    eventSource: 'aws:kafka',
    eventSourceArn: 'arn:aws:kafka:eu-west-1:123456789012:cluster/orders/751d2973-a626-431c-9d4e-d7975eb44dd7-2',
    bootstrapServers: 'b-1.orders.kafka.eu-west-1.amazonaws.com:9092',
    records,
  };
}

/** Message ids end in `:1`, `:2`, … in order, or in what `ids` says. */
export function activeMqEvent(bodies: readonly unknown[], ids: readonly (string | number)[] = bodies.map((_, index) => index + 1)): ActiveMqEvent {
  return {
    eventSource: 'aws:mq',
    eventSourceArn: 'arn:aws:mq:eu-west-1:123456789012:broker:orders:b-9bcfa592-423a-4942-879d-eb284b418fc8',
    messages: bodies.map((body, index) => ({
      messageID: `ID:b-9bcfa592-1.mq.eu-west-1.amazonaws.com-37557-1234520418293-4:1:1:1:${ids[index]}`,
      messageType: 'jms/text-message',
      deliveryMode: 1,
      replyTo: null,
      type: null,
      expiration: '60000',
      priority: 1,
      correlationId: 'c',
      redelivered: false,
      destination: { physicalName: 'orders' },
      data: base64(body),
      timestamp: 1_598_827_811_958,
      brokerInTime: 1_598_827_811_958,
      brokerOutTime: 1_598_827_811_959,
      properties: {},
    })),
  };
}

/** Message ids are `m1`, `m2`, … in order, or what `ids` says; null where a sender chose none. */
export function rabbitMqEvent(
  bodies: readonly unknown[],
  ids: readonly (string | null)[] = bodies.map((_, index) => `m${index + 1}`),
): RabbitMqEvent {
  return {
    eventSource: 'aws:rmq',
    eventSourceArn: 'arn:aws:mq:eu-west-1:123456789012:broker:orders:b-9bcfa592-423a-4942-879d-eb284b418fc8',
    rmqMessagesByQueue: {
      'orders::/': bodies.map((body, index) => ({
        basicProperties: {
          contentType: 'application/json',
          contentEncoding: null,
          headers: null,
          deliveryMode: 2,
          priority: null,
          correlationId: null,
          replyTo: null,
          expiration: null,
          messageId: ids[index] ?? null,
          timestamp: null,
          type: null,
          userId: null,
          appId: null,
          clusterId: null,
          bodySize: 80,
        },
        redelivered: false,
        data: base64(body),
      })),
    },
  };
}

export function snsEvent(): SNSEvent {
  return {
    Records: [
      {
        EventVersion: '1.0',
        EventSubscriptionArn: 'arn:aws:sns:eu-west-1:123456789012:orders:6a1b4c3e-0000-4000-8000-000000000001',
        EventSource: 'aws:sns',
        Sns: {
          SignatureVersion: '1',
          Timestamp: '2025-01-01T00:00:00.000Z',
          Signature: 'tcc6faL2yUC6dgZdmrwh1Y4cGa',
          SigningCertUrl: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-ac565b8b.pem',
          MessageId: '95df01b4-ee98-5cb9-9903-4c221d41eb5e',
          Message: '{"orderId":"o-1"}',
          MessageAttributes: {},
          Type: 'Notification',
          UnsubscribeUrl: 'https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe',
          TopicArn: 'arn:aws:sns:eu-west-1:123456789012:orders',
          Subject: '',
        },
      },
    ],
  };
}

/** A bucket without versions. */
export function s3Event(): S3Event {
  return {
    Records: [
      {
        eventVersion: '2.1',
        eventSource: 'aws:s3',
        awsRegion: 'eu-west-1',
        eventTime: '2025-01-01T00:00:00.000Z',
        eventName: 'ObjectCreated:Put',
        userIdentity: { principalId: 'AWS:AIDAEXAMPLE' },
        requestParameters: { sourceIPAddress: '203.0.113.7' },
        responseElements: { 'x-amz-request-id': 'C3D13FE58DE4C810', 'x-amz-id-2': 'FMyUVURIY8' },
        s3: {
          s3SchemaVersion: '1.0',
          configurationId: 'orders',
          bucket: { name: 'orders', ownerIdentity: { principalId: 'A3NL1KOZZKExample' }, arn: 'arn:aws:s3:::orders' },
          object: { key: 'red+flower.jpg', size: 1024, eTag: 'd41d8cd98f00b204e9800998ecf8427e', sequencer: '0055AED6DCD90281E5' },
        },
      },
    ],
  };
}

export function eventBridgeEvent(): EventBridgeEvent<'OrderPaid', { readonly orderId: string }> {
  return { ...scheduledEvent(), 'detail-type': 'OrderPaid', source: 'shop.orders', resources: [], detail: { orderId: 'o-1' } };
}
