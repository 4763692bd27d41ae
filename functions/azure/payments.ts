/**
 * `POST /api/payments` with an `Idempotency-Key`: sent again, it answers the same and charges nothing.
 *
 * @module
 */
import { app } from '@azure/functions';
import { idempotentHttp } from 'rerunsafe/azure-functions';
import { charge, isPayment } from '../provider.ts';
import { leaseMs, store } from './stores.ts';

app.http('payments', {
  methods: ['POST'],
  // App Service authentication stands in front and turns strangers away (infra/azure).
  authLevel: 'anonymous',
  handler: idempotentHttp(
    {
      store,
      operation: 'payments/charge',
      // Set by App Service authentication, which removes what a caller sends under this name.
      scope: (request) => request.headers.get('x-ms-client-principal-id'),
      leaseMs,
      // Its answers are JSON. Said, so that the check at start-up has nothing to ask.
      streams: 'pass',
    },
    async (request, context, run) => {
      const payment: unknown = await request.json().catch(() => undefined);
      if (!isPayment(payment)) return { status: 400, jsonBody: { error: 'orderId, amount and currency are needed' } };
      const charged = await charge(payment, run.keyFor('charge'), run.signal);
      if (charged.kind === 'declined') return { status: 402, jsonBody: { error: charged.reason } };
      context.log(`charged order ${payment.orderId}, attempt ${run.attempt}`);
      return { status: 201, jsonBody: { orderId: payment.orderId, chargeId: charged.chargeId, chargedAt: new Date().toISOString() } };
    },
  ),
});
