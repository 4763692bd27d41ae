/**
 * The nightly report: one run at a time, one per night, and none that writes after another has taken over.
 *
 * @module
 */
import { app } from '@azure/functions';
import { singleton } from 'rerunsafe/azure-functions';
import { fencedClaim, fencedUpsert } from 'rerunsafe/azure-tables';
import { statement } from '../provider.ts';
import { jobLeaseMs, leases } from './stores.ts';
import { table } from './tables.ts';

app.timer('nightly', {
  schedule: '0 0 2 * * *',
  handler: singleton({ leases, name: 'reports/nightly', leaseMs: jobLeaseMs }, async (timer, context, lease) => {
    lease.signal.addEventListener('abort', () => context.warn('the lease is lost: somebody else may be at the report'), { once: true });
    const reports = await table('reports');
    const report = { partitionKey: 'nightly', rowKey: timer.scheduleStatus.next.slice(0, 10) };
    // First the claim, then the reading: from here on whoever held the lease before can write no more.
    await fencedClaim(reports, lease.fence, report);
    const { charges, amount } = await statement(lease.signal);
    await fencedUpsert(reports, lease.fence, { ...report, charges, amount });
    context.log(`reported ${charges} charges for ${report.rowKey}`);
  }),
});
