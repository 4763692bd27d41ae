/**
 * Pays an order back: a task of a state machine, or invoked directly. Tried again, it answers the same and pays nothing.
 *
 * @module
 */
import { PermanentError } from 'rerunsafe';
import { idempotent } from 'rerunsafe/aws-lambda';
import { charge } from '../provider.ts';
import { store } from './stores.ts';

interface Refund {
  readonly refundId: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

export const handler = idempotent(
  {
    store,
    operation: 'payments/refund',
    key: ({ refundId }: Refund) => refundId,
    // The same refund with another amount is a mistake, and refused.
    input: ({ orderId, amount, currency }) => ({ orderId, amount, currency }),
  },
  async ({ refundId, orderId, amount, currency }, _context, run) => {
    // To the provider a refund is a charge below zero.
    const charged = await charge({ orderId, amount: -amount, currency }, run.keyFor('refund'), run.signal);
    // Remembered: whoever tries again is told the same, and the provider is not asked.
    if (charged.kind === 'declined') throw new PermanentError(charged.reason);
    return { refundId, chargeId: charged.chargeId };
  },
);
