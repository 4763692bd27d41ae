/**
 * Messages of a queue.
 *
 * @module
 */
import { idempotentEach } from 'rerunsafe/aws-lambda';
import { options, store } from './stage.ts';
import { type Order, work } from './work.ts';

const orderOf = ({ body }: { readonly body: string }): Order => JSON.parse(body) as Order;

export const handler = idempotentEach(
  { store, operation: 'lambda/queue', key: (record) => orderOf(record).id, onItemFailed: () => {}, ...options },
  (record, _context, run) => work(orderOf(record), run),
);
