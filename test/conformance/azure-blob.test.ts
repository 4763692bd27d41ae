import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { blobLeases } from '../../src/leases/azure-blob/index.ts';
import { leaseProviderConformance } from '../../src/testing/index.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

let azurite: Azurite;
let leases: LeaseProvider;

beforeAll(async () => {
  azurite = await startAzurite({ services: ['blob'] });
  const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
  leases = blobLeases({ container: service.getContainerClient('leases'), prefix: 'conformance/', requestTimeoutMs: 20_000 });
  await leases.setUp?.();
}, 60_000);

afterAll(() => azurite?.stop());

leaseProviderConformance({
  name: 'Azure Blob Storage (Azurite)',
  // The service's clock cannot be moved and no lease is shorter than 15 s: the cases wait for theirs at the same time.
  describe: describe.concurrent,
  it,
  leaseMs: 15_000,
  createLeases: async () => ({ leases }),
});
