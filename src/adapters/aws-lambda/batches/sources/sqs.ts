/**
 * SQS: each message that was not done is named, and comes back after its visibility time-out; the rest is deleted.
 *
 * @module
 */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type Source, unidentified } from './source.ts';

export const sqs: Source<SQSRecord> = {
  what: 'message',
  reportedTo: 'the queue',
  concurrency: 8,
  placesOf: (event) =>
    (event as SQSEvent).Records.map((record) => ({ record, id: record.messageId, name: record.messageId, lane: fifoGroup(record) })),
  answer: ({ undone }): SQSBatchResponse => ({ batchItemFailures: undone.map(({ id }) => ({ itemIdentifier: identifierOf(id) })) }),
};

/** Standard queues may carry group ids too (fair queues), and promise no order; only a FIFO queue's name ends in `.fifo`. */
function fifoGroup({ eventSourceARN, attributes }: SQSRecord): string | undefined {
  return eventSourceARN?.endsWith('.fifo') === true ? (attributes?.MessageGroupId ?? '') : undefined;
}

function identifierOf(messageId: unknown): string {
  if (typeof messageId === 'string' && messageId !== '') return messageId;
  throw unidentified('messageId');
}
