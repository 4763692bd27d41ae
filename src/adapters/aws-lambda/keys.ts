/**
 * The natural id of each event source, as a key. A fallback, to be asked for by name: it survives a redelivery, not a second send. Where the message
 * has an id of its own (an order number), take that.
 *
 * Each builder goes where `key` is expected, in `idempotent` or in `idempotentEach`, and brings the type of its event or record along. All throw
 * `MISSING_KEY` for whatever does not lead to exactly one message: missing, empty, of another type, several records, a number that was rounded.
 *
 * @module
 */
import type { DynamoDBRecord, EventBridgeEvent, KinesisStreamRecord, S3Event, SNSEvent, SQSRecord } from 'aws-lambda';
import { RerunSafeError } from '../../core/errors.ts';
import type { KeyPart } from '../../core/key.ts';
import type { ActiveMqMessage, KafkaRecord, RabbitMqMessage } from './batches/events.ts';

export { cloudEvent, cloudEventHeaders, gitHubDelivery, standardWebhook, stripeEvent } from '../webhook-keys.ts';

/** What a builder reads: one object, and the builder's name for the refusal. */
interface Reader {
  text(name: string): string;
  /** Left out, null or empty: undefined. */
  optionalText(name: string): string | undefined;
  whole(name: string, least?: number): number;
  inside(name: string): Reader;
  only(name: string): Reader;
}

const refuse = (what: string, why: string): RerunSafeError => new RerunSafeError('MISSING_KEY', `keys.${what}: ${why}. Nothing was run.`);

/** `at`: where in the event it is, as a prefix of its names. */
function readerOf(what: string, value: unknown, at = ''): Reader {
  const fields: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const isMissing = (name: string): boolean => fields[name] === undefined || fields[name] === null || fields[name] === '';
  const given = (name: string): unknown => {
    if (isMissing(name)) throw refuse(what, `${at}${name} is missing`);
    return fields[name];
  };
  const reader: Reader = {
    text(name) {
      const found = given(name);
      // 1 and "1" would be one key.
      if (typeof found !== 'string') throw refuse(what, `${at}${name} must be a text, not of type ${typeof found}`);
      return found;
    },
    optionalText: (name) => (isMissing(name) ? undefined : reader.text(name)),
    whole(name, least = 0) {
      const found = given(name);
      if (typeof found === 'number' && Number.isSafeInteger(found) && found >= least) return found;
      const why = Number.isInteger(found) ? 'is beyond 2^53 and was rounded on its way, or below what it can be' : 'is not a whole number';
      throw refuse(what, `${at}${name} ${why}`);
    },
    inside: (name) => readerOf(what, fields[name], `${at}${name}.`),
    only(name) {
      const records = fields[name];
      if (Array.isArray(records) && records.length === 1) return readerOf(what, records[0], `${at}${name}[0].`);
      throw refuse(what, Array.isArray(records) ? `${name} has ${records.length} records, and a key stands for one` : `${name} is missing`);
    },
  };
  return reader;
}

/** SQS: the id that the service gave the message. Survives redeliveries and the way into a dead-letter queue; a second send, or a redrive, has another. */
export const sqsMessageId = (record: SQSRecord): readonly KeyPart[] => [readerOf('sqsMessageId', record).text('messageId')];

/**
 * SQS FIFO: queue, group and `MessageDeduplicationId`. The group, since a queue can be set to deduplicate within each group.
 *
 * A producer that sends again under its id is recognised for as long as the record is kept (7 d), where SQS itself forgets the id after 5 minutes. So
 * only for ids that are never meant to be used again. With content-based deduplication the id is the hash of the body, and the same body sent an hour
 * later would be taken for done: take another key there.
 */
export const sqsDeduplicationId = (record: SQSRecord): readonly KeyPart[] => {
  const message = readerOf('sqsDeduplicationId', record);
  const attributes = message.inside('attributes');
  return [message.text('eventSourceARN'), attributes.text('MessageGroupId'), attributes.text('MessageDeduplicationId')];
};

/** SNS: topic and message id, the same in each try and for each subscription; a second publish has another. */
export const snsMessageId = (event: SNSEvent): readonly KeyPart[] => {
  const message = readerOf('snsMessageId', event).only('Records').inside('Sns');
  return [message.text('TopicArn'), message.text('MessageId')];
};

/**
 * S3: bucket, object (encoded, as S3 sends it), what happened, sequencer, and the version where there is one. Only what creates or deletes an object has
 * a sequencer; other events are refused.
 */
export const s3Object = (event: S3Event): readonly KeyPart[] => {
  const record = readerOf('s3Object', event).only('Records');
  const object = record.inside('s3').inside('object');
  const version = object.optionalText('versionId');
  const key = [record.inside('s3').inside('bucket').text('name'), object.text('key'), record.text('eventName'), object.text('sequencer')];
  return version === undefined ? key : [...key, version];
};

/**
 * EventBridge: source and id. A producer that puts an event again makes a new id. What is replayed from an archive is the archived event with a
 * `replay-name`: where a replay is meant to run what has run before, add that name to a key of your own.
 */
export const eventBridgeId = (event: EventBridgeEvent<string, unknown>): readonly KeyPart[] => {
  const fields = readerOf('eventBridgeId', event);
  return [fields.text('source'), fields.text('id')];
};

/**
 * Kafka: topic, partition, offset and timestamp, the last because a topic that was made anew counts from 0 again. The cluster is no part of it: an
 * operation that reads topics of one name from two clusters needs a `scope`.
 */
export const kafkaOffset = (record: KafkaRecord): readonly KeyPart[] => {
  const fields = readerOf('kafkaOffset', record);
  // −1: a record without a time.
  return [fields.text('topic'), fields.whole('partition'), fields.whole('offset'), fields.whole('timestamp', -1)];
};

/** Kinesis: stream, shard and sequence number. A producer that puts again makes a new one. */
export const kinesisSequenceNumber = (record: KinesisStreamRecord): readonly KeyPart[] => {
  const what = 'kinesisSequenceNumber';
  const fields = readerOf(what, record);
  const sequenceNumber = fields.inside('kinesis').text('sequenceNumber');
  const [shard = '', ...rest] = fields.text('eventID').split(':');
  if (shard === '' || rest.join(':') !== sequenceNumber) throw refuse(what, 'eventID is not made of a shard and the sequence number');
  return [fields.text('eventSourceARN'), shard, sequenceNumber];
};

/** DynamoDB streams: stream and event id, one for each change of an item. */
export const dynamodbStreamEvent = (record: DynamoDBRecord): readonly KeyPart[] => {
  const fields = readerOf('dynamodbStreamEvent', record);
  return [fields.text('eventSourceARN'), fields.text('eventID')];
};

/** ActiveMQ: queue and message id. Clients of some protocols choose their ids, so two queues may share one. */
export const activeMqMessageId = (message: ActiveMqMessage): readonly KeyPart[] => {
  const fields = readerOf('activeMqMessageId', message);
  return [fields.inside('destination').text('physicalName'), fields.text('messageID')];
};

/**
 * RabbitMQ: the `message-id` that the sender chose; without one it refuses. The queue is no part of it: an operation that reads several queues whose
 * senders share ids needs a `scope`.
 */
export const rabbitMqMessageId = (message: RabbitMqMessage): readonly KeyPart[] => [
  readerOf('rabbitMqMessageId', message).inside('basicProperties').text('messageId'),
];
