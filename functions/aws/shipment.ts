/**
 * Orders a shipment when EventBridge says that an order was paid.
 *
 * @module
 */
import type { EventBridgeEvent } from 'aws-lambda';
import { idempotent } from 'rerunsafe/aws-lambda';
import { put, store } from './stores.ts';

interface Paid {
  readonly orderId: string;
  readonly address: string;
}

export const handler = idempotent(
  // Not the event's id: a shop that puts its event again makes a new one, and the order is still to be shipped once.
  { store, operation: 'orders/ship', key: ({ detail }: EventBridgeEvent<'OrderPaid', Paid>) => detail.orderId },
  async ({ detail }, _context, run) => {
    const shipmentId = run.keyFor('shipment');
    await put(`shipment/${shipmentId}`, { ...detail, orderedAt: new Date().toISOString() }, run.signal);
    return { shipmentId };
  },
);
