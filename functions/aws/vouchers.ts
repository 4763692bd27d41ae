/**
 * Redeems a voucher: for partners through API Gateway (REST), for tills through an internal load balancer. A voucher is worth something once, whoever
 * asks; whoever asks again with the same `Idempotency-Key` is told the same.
 *
 * @module
 */
import type { ALBEvent, APIGatewayProxyEvent } from 'aws-lambda';
import { idempotentHttp } from 'rerunsafe/aws-lambda';
import { json, parsed } from './json.ts';
import { putOnce, store } from './stores.ts';

export const handler = idempotentHttp(
  {
    store,
    operation: 'vouchers/redeem',
    // A partner's signature was checked by API Gateway; the tills are one caller.
    scope: ({ requestContext }: APIGatewayProxyEvent | ALBEvent) => ('elb' in requestContext ? 'tills' : requestContext.identity.userArn),
  },
  async (event, _context, run) => {
    const { code } = (parsed(event.body) ?? {}) as { readonly code?: unknown };
    if (typeof code !== 'string' || code === '') return json(400, { error: 'code is needed' });
    const redeemed = await putOnce(`voucher/${code}`, { by: run.keyFor('redeem'), at: new Date().toISOString() }, run.signal);
    return redeemed ? json(200, { code }) : json(410, { error: 'redeemed before' });
  },
);
