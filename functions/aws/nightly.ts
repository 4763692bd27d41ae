/**
 * The nightly report: one run at a time, one per night, and none that writes after another has taken over.
 *
 * @module
 */
import type { ScheduledEvent } from 'aws-lambda';
import { storeLeases } from 'rerunsafe';
import { singleton } from 'rerunsafe/aws-lambda';
import { fencedUpdate } from 'rerunsafe/dynamodb';
import { statement } from '../provider.ts';
import { APP_TABLE, dynamodb, store } from './stores.ts';

const leases = storeLeases(store);

export const handler = singleton({ leases, name: 'reports/nightly' }, async (event: ScheduledEvent, _context, lease) => {
  const client = await dynamodb();
  const report = { TableName: APP_TABLE, Key: { id: { S: `report/${event.time.slice(0, 10)}` } } };
  // First the claim, then the reading: from here on whoever held the lease before can write no more.
  await fencedUpdate(client, lease.fence, report);
  const { charges, amount } = await statement(lease.signal);
  await fencedUpdate(client, lease.fence, {
    ...report,
    UpdateExpression: 'SET #charges = :charges, #amount = :amount',
    ExpressionAttributeNames: { '#charges': 'charges', '#amount': 'amount' },
    ExpressionAttributeValues: { ':charges': { N: String(charges) }, ':amount': { N: String(amount) } },
  });
});
