/**
 * Takes orders off an SQS queue, one record at a time: a batch that comes back costs only what was not done.
 *
 * @module
 */
import { idempotentEach } from 'rerunsafe/aws-lambda';
import { APP_TABLE, dynamodb, store } from './stores.ts';

interface Order {
  readonly orderId: string;
  readonly customer: string;
  readonly amount: number;
}

const orderOf = (record: { readonly body: string }): Order => JSON.parse(record.body) as Order;

export const handler = idempotentEach(
  // The order's own id: a producer that sends twice makes two messages, but one order.
  { store, operation: 'orders/take', key: (record) => orderOf(record).orderId },
  async (record, _context, run) => {
    const { PutItemCommand } = await import('@aws-sdk/client-dynamodb');
    const { orderId, customer, amount } = orderOf(record);
    const Item = {
      // The derived key is the same in every attempt: where a crash makes the work start again, it writes this very item.
      id: { S: `order/${run.keyFor('item')}` },
      orderId: { S: orderId },
      customer: { S: customer },
      amount: { N: String(amount) },
      attempt: { N: String(run.attempt) },
      takenAt: { S: new Date().toISOString() },
    };
    await (await dynamodb()).send(new PutItemCommand({ TableName: APP_TABLE, Item }), { abortSignal: run.signal });
  },
);
