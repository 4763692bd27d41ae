/**
 * A request with an `Idempotency-Key`.
 *
 * @module
 */
import { idempotentHttp } from 'rerunsafe/aws-lambda';
import { options, store } from './stage.ts';
import { type Order, work } from './work.ts';

export const handler = idempotentHttp({ store, operation: 'lambda/http', scope: 'public', ...options }, async (event, _context, run) => ({
  statusCode: 201,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(await work(JSON.parse(event.body ?? '') as Order, run)),
}));
