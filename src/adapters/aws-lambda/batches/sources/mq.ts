/**
 * Amazon MQ: there are no partial answers. Where anything was not done, the whole batch comes back.
 *
 * @module
 */
import { ItemsFailedError } from '../../../items-failed.ts';
import type { ActiveMqMessage, RabbitMqMessage } from '../events.ts';
import { isObject, type Place, type Source, type Unfinished } from './source.ts';

function answer({ operation, places, failures, untried, undone }: Unfinished<unknown>): undefined {
  if (undone.length > 0) throw new ItemsFailedError(operation, places.length, failures, untried);
  return undefined;
}

const unordered = <R>(records: readonly unknown[], idOf: (record: R) => unknown): readonly Place<R>[] | undefined =>
  records.every(isObject)
    ? (records as readonly unknown[] as readonly R[]).map((record) => ({
        record,
        id: idOf(record),
        name: String(idOf(record) ?? '(without an id)'),
        lane: undefined,
      }))
    : undefined;

export const activeMq: Source<ActiveMqMessage> = {
  what: 'message',
  reportedTo: 'the broker',
  concurrency: 8,
  placesOf(event) {
    const { messages } = event as { readonly messages?: unknown };
    return Array.isArray(messages) ? unordered(messages, ({ messageID }: ActiveMqMessage) => messageID) : undefined;
  },
  answer,
};

export const rabbitMq: Source<RabbitMqMessage> = {
  what: 'message',
  reportedTo: 'the broker',
  concurrency: 8,
  placesOf(event) {
    const { rmqMessagesByQueue: queues } = event as { readonly rmqMessagesByQueue?: unknown };
    if (!isObject(queues) || !Object.values(queues).every(Array.isArray)) return undefined;
    return unordered(Object.values(queues).flat(), ({ basicProperties }: RabbitMqMessage) => basicProperties?.messageId);
  },
  answer,
};
