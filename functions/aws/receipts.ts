/**
 * Writes a receipt for each payment that an SNS topic tells of.
 *
 * @module
 */
import type { SNSEvent } from 'aws-lambda';
import { idempotent } from 'rerunsafe/aws-lambda';
import { put, store } from './stores.ts';

interface Payment {
  readonly chargeId: string;
  readonly orderId: string;
}

/** SNS hands over one message at a time. */
const paymentOf = ({ Records: [record] }: SNSEvent): Payment => JSON.parse(record?.Sns.Message ?? '') as Payment;

export const handler = idempotent(
  { store, operation: 'receipts/write', key: (event: SNSEvent) => paymentOf(event).chargeId },
  async (event, _context, run) => {
    const { chargeId, orderId } = paymentOf(event);
    await put(`receipt/${chargeId}`, { orderId, writtenAt: new Date().toISOString() }, run.signal);
  },
);
