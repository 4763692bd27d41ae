/**
 * Which source an event comes from.
 *
 * @module
 */
import { kafka } from './kafka.ts';
import { activeMq, rabbitMq } from './mq.ts';
import { isObject, refused, type Source } from './source.ts';
import { sqs } from './sqs.ts';
import { dynamodbStream, kinesis } from './streams.ts';

/** Each of the `Records` says where it comes from. */
const BY_RECORD: ReadonlyMap<unknown, Source> = new Map<unknown, Source>([
  ['aws:sqs', sqs],
  ['aws:kinesis', kinesis],
  ['aws:dynamodb', dynamodbStream],
]);
/** The event says it. */
const BY_EVENT: ReadonlyMap<unknown, Source> = new Map<unknown, Source>([
  ['aws:kafka', kafka],
  ['SelfManagedKafka', kafka],
  ['aws:mq', activeMq],
  ['aws:rmq', rabbitMq],
]);

/**
 * @throws RerunSafeError `INVALID_OPTIONS` for anything else, also for records of several sources: an empty answer would acknowledge what nobody has
 * looked at.
 */
export function sourceOf(event: unknown): Source {
  const source = isObject(event) ? found(event) : undefined;
  if (source !== undefined) return source;
  throw refused('the event is no batch of SQS, Kinesis, DynamoDB streams, Kafka or Amazon MQ. Nothing was run; use idempotent for other events.');
}

function found(event: Readonly<Record<string, unknown>>): Source | undefined {
  const { Records: records, eventSource } = event;
  if (records === undefined) return BY_EVENT.get(eventSource);
  if (!Array.isArray(records) || eventSource !== undefined) return undefined;
  // Of an empty batch nothing is known but that there is nothing to do; the end of a tumbling window is one, and a stream refuses it.
  if (records.length === 0) return 'window' in event ? kinesis : sqs;
  const sources = new Set(records.map((record: { readonly eventSource?: unknown } | null | undefined) => record?.eventSource));
  const [only] = sources;
  return sources.size === 1 ? BY_RECORD.get(only) : undefined;
}
