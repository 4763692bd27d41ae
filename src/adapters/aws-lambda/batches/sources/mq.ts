/**
 * Amazon MQ: there are no partial answers. Where anything was not done, the whole batch comes back.
 *
 * @module
 */
import { ItemsFailedError } from '../../../items-failed.ts';
import type { ActiveMqMessage, RabbitMqMessage } from '../events.ts';
import { isObject, type Source, type Unfinished } from './source.ts';

function answer({ operation, places, failures, untried, undone }: Unfinished<unknown>): undefined {
  if (undone.length > 0) throw new ItemsFailedError(operation, places.length, failures, untried);
  return undefined;
}

const unordered = <R>(records: readonly unknown[]): readonly { record: R; lane: undefined }[] | undefined =>
  records.every(isObject) ? records.map((record) => ({ record: record as R, lane: undefined })) : undefined;

export const activeMq: Source<ActiveMqMessage> = {
  what: 'message',
  reportedTo: 'the broker',
  concurrency: 8,
  placesOf(event) {
    const { messages } = event as { readonly messages?: unknown };
    return Array.isArray(messages) ? unordered(messages) : undefined;
  },
  nameOf: ({ messageID }) => messageID,
  answer,
};

export const rabbitMq: Source<RabbitMqMessage> = {
  what: 'message',
  reportedTo: 'the broker',
  concurrency: 8,
  placesOf(event) {
    const { rmqMessagesByQueue: queues } = event as { readonly rmqMessagesByQueue?: unknown };
    if (!isObject(queues) || !Object.values(queues).every(Array.isArray)) return undefined;
    return unordered(Object.values(queues).flat());
  },
  nameOf: ({ basicProperties }) => basicProperties?.messageId ?? '(without an id)',
  answer,
};
