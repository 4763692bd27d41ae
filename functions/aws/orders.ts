/**
 * Takes orders off two SQS queues, one record at a time: a batch that comes back costs only what was not done. Of the FIFO queue the orders of one
 * customer stay in order.
 *
 * @module
 */
import type { SQSRecord } from 'aws-lambda';
import { idempotentEach } from 'rerunsafe/aws-lambda';
import { put, store } from './stores.ts';

interface Order {
  readonly orderId: string;
  readonly customer: string;
  readonly amount: number;
}

const orderOf = ({ body }: SQSRecord): Order => JSON.parse(body) as Order;

export const handler = idempotentEach(
  // The order's own id: a producer that sends twice makes two messages, in whichever queue, but one order.
  { store, operation: 'orders/take', key: (record) => orderOf(record).orderId },
  async (record, _context, run) => {
    const { orderId, customer, amount } = orderOf(record);
    // The derived key is the same in every attempt: where a crash makes the work start again, it writes this very item.
    const id = `order/${run.keyFor('item')}`;
    await put(id, { orderId, customer, amount, attempt: run.attempt, takenAt: new Date().toISOString() }, run.signal);
  },
);
