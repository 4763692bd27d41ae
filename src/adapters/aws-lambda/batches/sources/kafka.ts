/**
 * Kafka, of MSK and of one's own: order within a partition, and each record that was not done is named by partition and offset.
 *
 * All of them, not only the first of a partition: Lambda's documentation ("Configuring error handling controls for Kafka event sources") says that
 * just the reported ones are tried again. Were the lowest offset a checkpoint, as in other streams, naming all would say the same.
 *
 * @module
 */
import type { KafkaBatchResponse, KafkaRecord } from '../events.ts';
import { isObject, type Place, type Source, unidentified } from './source.ts';

export const kafka: Source<KafkaRecord> = {
  what: 'record',
  reportedTo: 'Kafka',
  concurrency: 8,
  placesOf(event) {
    const { records } = event as { readonly records?: unknown };
    if (!isObject(records)) return undefined;
    const places: Place<KafkaRecord>[] = [];
    for (const [partition, ofPartition] of Object.entries(records)) {
      if (!Array.isArray(ofPartition) || !ofPartition.every(isObject)) return undefined;
      for (const record of ofPartition as unknown as readonly KafkaRecord[]) {
        places.push({ record, id: record.offset, name: `${partition} at ${record.offset}`, lane: partition });
      }
    }
    return places;
  },
  answer: ({ undone }): KafkaBatchResponse => ({ batchItemFailures: undone.map((place) => ({ itemIdentifier: identifierOf(place) })) }),
};

/** An offset that was rounded would name another record, perhaps one that the event does not have. */
function identifierOf({ id: offset, lane: partition }: Place<KafkaRecord>): { partition: string; offset: number } {
  if (partition === undefined || partition === '' || !isOffset(offset)) throw unidentified('exact partition and offset');
  return { partition, offset };
}

const isOffset = (value: unknown): value is number => Number.isSafeInteger(value);
