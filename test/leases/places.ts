/**
 * Every lease provider as several processes reach it, and beside each a number that only fenced writes may change.
 *
 * @module
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import type { LeaseProvider } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { blobLeases, fencedUpload } from '../../src/leases/azure-blob/index.ts';
import { fencedClaimFile, fencedWriteFile, fileLeases } from '../../src/leases/file/index.ts';
import { type Counter, openPlace, type Place as StorePlace } from '../crash/place.ts';
import { withUncertainty } from '../support/stores.ts';

/** Plain JSON: handed to each process. */
export type Place =
  | StorePlace
  | { readonly kind: 'azure-blob'; readonly connectionString: string; readonly containerName: string }
  | { readonly kind: 'file'; readonly directory: string };

export interface OpenedLeases {
  readonly leases: Required<LeaseProvider>;
  readonly counter: Counter;
  close(): void;
}

/** All processes here share one clock, so less than the store's own allowance will do, and no turn has to sit it out. */
const DYNAMODB_UNCERTAINTY_MS = 100;

export function openLeases(place: Place): OpenedLeases {
  switch (place.kind) {
    case 'azure-blob':
      return openBlob(place);
    case 'file':
      return openFile(place);
    default: {
      const { store, counter, close } = openPlace(place);
      return { leases: storeLeases(place.kind === 'dynamodb' ? withUncertainty(store, DYNAMODB_UNCERTAINTY_MS) : store), counter, close };
    }
  }
}

/** A blob is fenced from a holder's first write to it, which cannot keep what stands there: a turn marks it, and writes what it does not have to read. */
function openBlob({ connectionString, containerName }: Extract<Place, { kind: 'azure-blob' }>): OpenedLeases {
  const retryOptions = { maxTries: 3, retryDelayInMs: 50, maxRetryDelayInMs: 200 };
  const container = BlobServiceClient.fromConnectionString(connectionString, { retryOptions }).getContainerClient(containerName);
  const blob = container.getBlockBlobClient('counter');
  return {
    leases: blobLeases({ container, prefix: 'leases/' }),
    counter: {
      claim: async (fence) => {
        await fencedUpload(blob, fence, '0');
        return 0;
      },
      write: (fence, n) => fencedUpload(blob, fence, String(n)),
      read: async () => Number((await blob.downloadToBuffer()).toString()),
    },
    close: () => {},
  };
}

function openFile({ directory }: Extract<Place, { kind: 'file' }>): OpenedLeases {
  const leases = fileLeases({ directory: join(directory, 'leases') });
  const path = join(directory, 'counter');
  return {
    leases: {
      ...leases,
      async setUp() {
        await mkdir(directory, { recursive: true });
        await leases.setUp();
      },
    },
    counter: {
      claim: async (fence) => Number((await fencedClaimFile(path, fence)).data?.toString() ?? 0),
      write: (fence, n) => fencedWriteFile(path, fence, String(n)),
      read: async () => Number(await readFile(path, 'utf8')),
    },
    close: () => {},
  };
}
