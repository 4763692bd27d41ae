/**
 * Keeps the stock of each article as the warehouse tells it over Kafka. An article is always in the same partition, so its levels come in order.
 *
 * @module
 */
import { idempotentEach, keys } from 'rerunsafe/aws-lambda';
import { patient, put, store } from './stores.ts';

export const handler = idempotentEach(
  // A level has no id of its own. Delivered again it is not written again: by now there may be a newer one.
  { store, operation: 'stock/set', key: keys.kafkaOffset, ...patient },
  async ({ value }, _context, run) => {
    const { article, level } = JSON.parse(Buffer.from(value, 'base64').toString()) as { readonly article: string; readonly level: number };
    await put(`stock/${article}`, { level, toldAt: new Date().toISOString() }, run.signal);
  },
);
