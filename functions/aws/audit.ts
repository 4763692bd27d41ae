/**
 * An entry in the books for each change of an order, from the stream of the app's table. The filter of the event source lets nothing but orders
 * through: the entries are written to the same table, and would come back.
 *
 * @module
 */
import { idempotentEach, keys } from 'rerunsafe/aws-lambda';
import { patient, put, store } from './stores.ts';

export const handler = idempotentEach(
  { store, operation: 'audit/enter', key: keys.dynamodbStreamEvent, ...patient },
  async ({ dynamodb: change, eventName = '' }, _context, run) => {
    const entry = { item: change?.Keys?.id?.S ?? '', eventName, amount: Number(change?.NewImage?.amount?.N ?? 0) };
    await put(`audit/${run.keyFor('entry')}`, { ...entry, enteredAt: new Date().toISOString() }, run.signal);
  },
);
