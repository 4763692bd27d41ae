/**
 * Made once per process, from the settings that a function app has anyway: `AzureWebJobsStorage`, or `AzureWebJobsStorage__tableServiceUri` and its
 * kin with an identity. No SDK is loaded before the first call.
 *
 * @module
 */
import { blobLeases } from 'rerunsafe/azure-blob';
import { tableStore } from 'rerunsafe/azure-tables';

/** Records, in the table `rerunsafe`. */
export const store = tableStore();
/** Leases, in the container `rerunsafe-leases`. */
export const leases = blobLeases();

/** A run that crashes keeps its key for so long. A run that goes on renews, however long it takes. */
export const leaseMs = Number(process.env.LEASE_MS ?? 30_000);
/** The same for the nightly job. A blob lease is 15 to 60 s. */
export const jobLeaseMs = Number(process.env.JOB_LEASE_MS ?? 60_000);
