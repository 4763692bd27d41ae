/**
 * A single event.
 *
 * @module
 */
import { idempotent } from 'rerunsafe/aws-lambda';
import { options, store } from './stage.ts';
import { type Order, work } from './work.ts';

export const handler = idempotent({ store, operation: 'lambda/order', key: (order: Order) => order.id, ...options }, (order, _context, run) =>
  work(order, run),
);
