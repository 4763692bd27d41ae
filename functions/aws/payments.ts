/**
 * `POST /payments` with an `Idempotency-Key`: sent again, it answers the same and charges nothing.
 *
 * @module
 */
import type { APIGatewayProxyEventV2WithJWTAuthorizer } from 'aws-lambda';
import { idempotentHttp } from 'rerunsafe/aws-lambda';
import { charge, isPayment } from '../provider.ts';
import { json, parsed } from './json.ts';
import { store } from './stores.ts';

export const handler = idempotentHttp(
  {
    store,
    operation: 'payments/charge',
    // From the token that API Gateway has verified.
    scope: (event: APIGatewayProxyEventV2WithJWTAuthorizer) => {
      const { sub } = event.requestContext.authorizer.jwt.claims;
      return typeof sub === 'string' ? sub : undefined;
    },
  },
  async (event, _context, run) => {
    const payment = parsed(event.body);
    if (!isPayment(payment)) return json(400, { error: 'orderId, amount and currency are needed' });
    const charged = await charge(payment, run.keyFor('charge'), run.signal);
    if (charged.kind === 'declined') return json(402, { error: charged.reason });
    return json(201, { orderId: payment.orderId, chargeId: charged.chargeId, chargedAt: new Date().toISOString() });
  },
);
