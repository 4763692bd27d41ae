/**
 * The container client: passed in, or made from what the platform's users have set already.
 *
 * @module
 */
import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { clientAt } from '../../azure-storage/client-at.ts';
import { findPlace, type Settings } from '../../azure-storage/settings.ts';
import { loadPackage } from '../../core/load-package.ts';
import type { Line } from './call.ts';

const OWN_TRIES = 3;
const OWN_TRY_LIMIT_MS = 3000;

/** Our own client sends each request once and we send again ourselves: only so is it known whether an earlier try may have been applied. */
const OWN_CLIENT: StoragePipelineOptions = { retryOptions: { maxTries: 1 } };

export const ownLine = (limitMs: number): Line => ({ tries: OWN_TRIES, tryLimitMs: OWN_TRY_LIMIT_MS, limitMs, hiddenTries: false });

/** A client that was passed in is used as it is. Its own retries leave out some faults (an answer that breaks off), so we send once more. */
export const givenLine = (client: object, limitMs: number): Line => ({
  tries: 2,
  tryLimitMs: limitMs,
  limitMs,
  hiddenTries: retriesOf(client) !== 1,
});

/** Not part of the SDK's public types: where it is not found, retries are assumed, which is the careful reading. */
function retriesOf(client: object): unknown {
  const { pipeline } = client as { pipeline?: { options?: { retryOptions?: { maxTries?: unknown } } } };
  return pipeline?.options?.retryOptions?.maxTries;
}

/**
 * From the settings of `connection`: a connection string, or the identity-based form of Azure Functions.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED` where none of them is set or makes sense, or a package is missing.
 */
export async function containerFrom(connection: string, containerName: string, settings: Settings): Promise<ContainerClient> {
  const place = findPlace('blob', connection, settings);
  const { BlobServiceClient } = await loadPackage('@azure/storage-blob', () => import('@azure/storage-blob'));
  const service = await clientAt('blob', place, {
    byConnectionString: (connectionString) => BlobServiceClient.fromConnectionString(connectionString, OWN_CLIENT),
    byIdentity: (url, credential) => new BlobServiceClient(url, credential, OWN_CLIENT),
  });
  return service.getContainerClient(containerName);
}
