/**
 * The batches that event sources deliver, and what each takes for an answer.
 *
 * @module
 */
import type {
  DynamoDBBatchResponse,
  DynamoDBRecord,
  DynamoDBStreamEvent,
  KinesisStreamBatchResponse,
  KinesisStreamEvent,
  KinesisStreamRecord,
  MSKEvent,
  MSKRecord,
  SelfManagedKafkaEvent,
  SelfManagedKafkaRecord,
  SQSBatchResponse,
  SQSEvent,
  SQSRecord,
} from 'aws-lambda';

/** A record of MSK or of a cluster of your own; key and value in base64. */
export type KafkaRecord = MSKRecord | SelfManagedKafkaRecord;

/** What Kafka is told. Needs provisioned mode and `ReportBatchItemFailures`. */
export interface KafkaBatchResponse {
  readonly batchItemFailures: readonly {
    /** `partition`: the name under which the event has the records, `<topic>-<number>`. */
    readonly itemIdentifier: { readonly partition: string; readonly offset: number };
  }[];
}

/** A message of Amazon MQ for ActiveMQ; `data` in base64. */
export interface ActiveMqMessage {
  readonly messageID: string;
  readonly messageType: string;
  readonly data: string;
  readonly destination: { readonly physicalName: string };
  readonly redelivered: boolean;
  readonly deliveryMode?: number;
  readonly priority?: number;
  readonly expiration?: number | string;
  readonly replyTo?: string | null;
  readonly type?: string | null;
  readonly correlationId?: string | null;
  readonly timestamp: number;
  readonly brokerInTime: number;
  readonly brokerOutTime: number;
  readonly properties?: Readonly<Record<string, string>>;
}

export interface ActiveMqEvent {
  readonly eventSource: 'aws:mq';
  readonly eventSourceArn: string;
  readonly messages: readonly ActiveMqMessage[];
}

/** A message of Amazon MQ for RabbitMQ; `data` in base64. Its sender decides which of the properties are set. */
export interface RabbitMqMessage {
  readonly basicProperties: {
    readonly contentType: string | null;
    readonly contentEncoding: string | null;
    readonly headers: Readonly<Record<string, unknown>> | null;
    readonly deliveryMode: number | null;
    readonly priority: number | null;
    readonly correlationId: string | null;
    readonly replyTo: string | null;
    readonly expiration: string | null;
    readonly messageId: string | null;
    readonly timestamp: string | null;
    readonly type: string | null;
    readonly userId: string | null;
    readonly appId: string | null;
    readonly clusterId: string | null;
    readonly bodySize: number;
  };
  readonly redelivered: boolean;
  readonly data: string;
}

export interface RabbitMqEvent {
  readonly eventSource: 'aws:rmq';
  readonly eventSourceArn: string;
  /** By `<queue>::<virtual host>`. */
  readonly rmqMessagesByQueue: Readonly<Record<string, readonly RabbitMqMessage[]>>;
}

export type BatchRecord = SQSRecord | KinesisStreamRecord | DynamoDBRecord | KafkaRecord | ActiveMqMessage | RabbitMqMessage;

interface Sources {
  readonly sqs: { readonly record: SQSRecord; readonly event: SQSEvent; readonly answer: SQSBatchResponse };
  readonly kinesis: { readonly record: KinesisStreamRecord; readonly event: KinesisStreamEvent; readonly answer: KinesisStreamBatchResponse };
  readonly kafka: { readonly record: KafkaRecord; readonly event: MSKEvent | SelfManagedKafkaEvent; readonly answer: KafkaBatchResponse };
  readonly activeMq: { readonly record: ActiveMqMessage; readonly event: ActiveMqEvent; readonly answer: undefined };
  readonly rabbitMq: { readonly record: RabbitMqMessage; readonly event: RabbitMqEvent; readonly answer: undefined };
  readonly dynamodb: { readonly record: DynamoDBRecord; readonly event: DynamoDBStreamEvent; readonly answer: DynamoDBBatchResponse };
}

/** DynamoDB comes last: all of its record is optional, so other records look like one. */
type SourceOf<R> = R extends SQSRecord
  ? 'sqs'
  : R extends KinesisStreamRecord
    ? 'kinesis'
    : R extends KafkaRecord
      ? 'kafka'
      : R extends ActiveMqMessage
        ? 'activeMq'
        : R extends RabbitMqMessage
          ? 'rabbitMq'
          : 'dynamodb';

/** The event whose records are `R`. */
export type BatchEvent<R> = Sources[SourceOf<R>]['event'];

/** What its source takes for an answer; nothing (undefined) for Amazon MQ. */
export type BatchAnswer<R> = Sources[SourceOf<R>]['answer'];
