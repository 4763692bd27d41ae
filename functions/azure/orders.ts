/**
 * Takes orders off the queue `orders`. A queue delivers at least once; an order is taken once.
 *
 * @module
 */
import { app } from '@azure/functions';
import { idempotent } from 'rerunsafe/azure-functions';
import { leaseMs, store } from './stores.ts';
import { table } from './tables.ts';

interface Order {
  readonly orderId: string;
  readonly customer: string;
  readonly amount: number;
}

app.storageQueue<Order>('orders', {
  queueName: 'orders',
  connection: 'AzureWebJobsStorage',
  // The order's own id: a producer that sends twice makes two messages, but one order.
  handler: idempotent({ store, operation: 'orders/take', key: (order: Order) => order.orderId, leaseMs }, async (order, context, run) => {
    const orders = await table('orders');
    // The derived key is the same in every attempt: where a crash makes the work start again, it writes this very row.
    await orders.upsertEntity({ partitionKey: 'orders', rowKey: run.keyFor('row'), ...order, attempt: run.attempt, takenAt: new Date() });
    context.log(`took order ${order.orderId}, attempt ${run.attempt}`);
  }),
});
