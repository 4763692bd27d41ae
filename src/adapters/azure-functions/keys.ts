/**
 * The natural id of each trigger, as a key. A fallback, to be asked for by name: it survives a redelivery, not a second send. Where the message has an
 * id of its own (an order number), take that.
 *
 * Each builder goes where `key` is expected, also in {@link idempotentEach}: it then takes the entry of its item.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import type { KeyPart } from '../../core/key.ts';
import { entryOf, isBatch, type Place, refuse, sharedEntry, textFrom, timeFrom, wholeFrom } from './trigger-metadata.ts';

/**
 * Goes where `key` is expected. Takes any input, so the type of the item is said where the function is registered: `app.storageQueue<Order>(…)`; for
 * `app.eventGrid`, which takes none, at the handler's first parameter.
 *
 * @throws RerunSafeError `MISSING_KEY` for whatever does not lead to exactly one message: missing, empty, an object, a number that was rounded.
 */
export type TriggerKey = <I>(input: I, context: InvocationContext, index?: number) => readonly KeyPart[];

const builder =
  (what: string, key: (place: Place) => readonly KeyPart[]): TriggerKey =>
  (input, context, index = 0) =>
    key({ what: `keys.${what}`, input, context, index });

const text = (place: Place, name: string): string => textFrom(place.what, name, entryOf(place, name));
const whole = (place: Place, name: string): string => wholeFrom(place.what, name, entryOf(place, name));
const time = (place: Place, name: string): number => timeFrom(place.what, name, entryOf(place, name));
const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};

/** Storage Queue: the id that the service gave the message. A copy put back by hand, or sent twice, has another one. */
export const storageQueueMessageId = builder('storageQueueMessageId', (place) => [text(place, 'id')]);

/**
 * Service Bus: the `MessageId` that the sender chose; without one, and for one that is JSON, it refuses. A sender that sends again under the same id
 * is recognised. An id in double quotes is the same as the one without: the worker takes the quotes off.
 */
export const serviceBusMessageId = builder('serviceBusMessageId', (place) => [text(place, 'messageId')]);

/**
 * Service Bus, where all senders choose whole numbers as message ids (`4711`). To take it is to say so: `1e3` would be the same as `1000`. Beyond 2^53
 * it refuses.
 */
export const serviceBusNumericMessageId = builder('serviceBusNumericMessageId', (place) => {
  const id = entryOf(place, 'messageId');
  // Leading zeros make it no JSON, so it arrives as it was sent.
  return [typeof id === 'string' && /^0\d+$/.test(id) ? id : wholeFrom(place.what, 'messageId', id)];
});

/**
 * Service Bus: the number that the broker gave the message, with the time it took it. Survives redeliveries, no second send. In partitioned queues it
 * is beyond 2^53 where the worker rounds it: then it refuses.
 */
export const serviceBusSequenceNumber = builder('serviceBusSequenceNumber', (place) => [
  whole(place, 'sequenceNumber'),
  time(place, 'enqueuedTimeUtc'),
]);

/**
 * Event Hubs: namespace, hub, partition, offset and time of arrival, the last because a hub that was made anew counts from 0 again. The consumer group
 * is no part of it: the operation says what the work is.
 */
export const eventHubOffset = builder('eventHubOffset', (place) => {
  const partition = fields(sharedEntry(place, 'partitionContext'));
  const of = (name: string): string => textFrom(place.what, `partitionContext.${name}`, partition[name]);
  const offset = entryOf(place, 'offset');
  return [
    of('fullyQualifiedNamespace'),
    of('eventHubName'),
    of('partitionId'),
    // Digits that the worker has made a number of are the same offset.
    typeof offset === 'number' ? wholeFrom(place.what, 'offset', offset) : textFrom(place.what, 'offset', offset),
    time(place, 'enqueuedTimeUtc'),
  ];
});

/** Event Grid, in its own schema (topic and id) or as CloudEvents (source and id). */
export const eventGridId = builder('eventGridId', ({ what, input }) => {
  const event = fields(input);
  const from = event.specversion === undefined ? 'topic' : 'source';
  return [textFrom(what, from, event[from]), textFrom(what, 'id', event.id)];
});

/**
 * Cosmos DB: the document (`_rid`, which a document made anew under the same id does not share) and its version (`_etag`). A delete, which the mode
 * for all versions brings, is told by the document it removed. `_ts` and `_lsn` are not enough: several documents share them.
 */
export const cosmosDbVersion = builder('cosmosDbVersion', ({ what, input }) => {
  const item = fields(input);
  const change = fields(item.metadata);
  if (change.operationType === 'delete' && item._rid === undefined) {
    return [textFrom(what, 'previous._rid', fields(item.previous)._rid), 'deleted'];
  }
  const document = item._rid === undefined ? fields(item.current) : item;
  return [textFrom(what, '_rid', document._rid), textFrom(what, '_etag', document._etag)];
});

/**
 * Blob: where it is (without a signature in the address) and its version: the ETag; else the version id; else, since the host hands out the ETag of
 * some versions of its extension as an empty object, the second it was written in and the hash of its bytes. Then the same bytes, written twice to one
 * place within a second, are one.
 */
export const blobVersion = builder('blobVersion', (place) => {
  const { what } = place;
  const uri = textFrom(what, 'uri', entryOf(place, 'uri'));
  const properties = fields(entryOf(place, 'properties'));
  const [address = ''] = uri.split('?');
  const eTag = properties.eTag ?? properties.etag;
  if (typeof eTag === 'string' && eTag !== '') return [address, 'etag', eTag.replaceAll('"', '')];
  if (typeof properties.versionId === 'string' && properties.versionId !== '') return [address, 'version', properties.versionId];
  const hash = properties.contentHash ?? properties.contentMD5;
  if (typeof hash !== 'string' || hash === '') throw refuse(what, 'properties has no ETag, no version id and no content hash');
  return [address, 'hash', timeFrom(what, 'properties.lastModified', properties.lastModified), hash];
});

/** What the extension wraps a message in, unless it hands out the bare value. */
const ENVELOPE = ['Offset', 'Partition', 'Topic', 'Timestamp', 'Value'] as const;

/**
 * Kafka: topic, partition, offset and timestamp, the last because a topic that was made anew counts from 0 again. The cluster is no part of it: an
 * operation that reads topics of one name from two clusters needs a `scope`.
 */
export const kafkaOffset = builder('kafkaOffset', (place) => {
  const { what, input, context } = place;
  const envelope = fields(input);
  const wrapped = !isBatch(context) && ENVELOPE.every((name) => Object.hasOwn(envelope, name));
  const [topic, partition, offset, timestamp] = wrapped
    ? [envelope.Topic, envelope.Partition, envelope.Offset, envelope.Timestamp]
    : (['topic', 'partition', 'offset', 'timestamp'] as const).map((name) => entryOf(place, name));
  return [
    textFrom(what, 'topic', topic),
    wholeFrom(what, 'partition', partition),
    wholeFrom(what, 'offset', offset),
    timeFrom(what, 'timestamp', timestamp),
  ];
});
