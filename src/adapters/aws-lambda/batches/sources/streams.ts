/**
 * Kinesis and DynamoDB streams: Lambda takes the lowest reported sequence number for its checkpoint and delivers everything from there again. So one is
 * reported, that of the first record that was not done; what was done behind it costs one read when it comes back.
 *
 * @module
 */
import type { DynamoDBRecord, KinesisStreamBatchResponse, KinesisStreamRecord } from 'aws-lambda';
import { fingerprintOf } from '../../../../core/fingerprint.ts';
import { isObject, refused, type Source, unidentified } from './source.ts';

interface Stream<R> {
  /** Under which name the record has what it carries. */
  readonly payload: keyof R;
  readonly sequenceNumberOf: (record: R) => unknown;
  /** What shares it must stay in order, when not all of the batch must. */
  readonly orderedBy: (record: R) => string;
}

const stream = <R>({ payload, sequenceNumberOf, orderedBy }: Stream<R>): Source<R> => ({
  what: 'record',
  reportedTo: 'the stream',
  concurrency: 1,
  placesOf(event, concurrency) {
    const { Records: records, window } = event as { readonly Records: readonly R[]; readonly window?: unknown };
    if (window !== undefined) {
      throw refused('the event belongs to a tumbling window, whose state would be lost: a replayed record adds nothing to it. Nothing was run.');
    }
    if (!records.every((record) => isObject(record[payload]))) return undefined;
    return records.map((record) => {
      const id = sequenceNumberOf(record);
      return { record, id, name: String(id), lane: concurrency === 1 ? '' : orderedBy(record) };
    });
  },
  answer({ undone: [first] }): KinesisStreamBatchResponse {
    if (first === undefined) return { batchItemFailures: [] };
    const { id: itemIdentifier } = first;
    if (typeof itemIdentifier !== 'string' || itemIdentifier === '') throw unidentified('sequence number');
    return { batchItemFailures: [{ itemIdentifier }] };
  },
});

export const kinesis = stream<KinesisStreamRecord>({
  payload: 'kinesis',
  sequenceNumberOf: ({ kinesis }) => kinesis.sequenceNumber,
  orderedBy: ({ kinesis }) => kinesis.partitionKey,
});

export const dynamodbStream = stream<DynamoDBRecord>({
  payload: 'dynamodb',
  sequenceNumberOf: ({ dynamodb }) => dynamodb?.SequenceNumber,
  // Two records of one item may have its keys in another order.
  orderedBy: ({ dynamodb }) => fingerprintOf(dynamodb?.Keys),
});
