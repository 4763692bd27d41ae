/**
 * Leases on Azure Blob Storage: the service itself keeps time, a token in the blob's metadata fences whoever lost.
 *
 * @module
 */
import type { ContainerClient } from '@azure/storage-blob';
import type { LeaseProvider } from '../../core/ports.ts';
import { acquire } from './acquire.ts';
import { blobNameOf } from './blob-name.ts';
import { type Line, send } from './call.ts';
import { containerFrom, givenLine, ownLine } from './client.ts';
import { type Grant, type Grants, grantsOf } from './grants.ts';
import { release, renew } from './hold.ts';
import { type LeaseBlob, leaseBlob } from './lease-blob.ts';
import { toError } from './map-error.ts';
import { breakLease, read } from './operate.ts';
import { type BlobLeasesOptions, checkBlobLeasesOptions, checkRequest, MAX_LEASE_MS, MIN_LEASE_MS } from './options.ts';

export { type FencedUploadOptions, fencedClaim, fencedDelete, fencedUpload, isFencedDeletion } from './fenced.ts';
export type { FencedBlobOptions } from './fenced-write.ts';
export type { BlobLeasesOptions } from './options.ts';

const DEFAULT_REQUEST_TIMEOUT_MS = 5000;
/** Giving a lease back after a failure: short, since it runs out anyway. */
const PARTING_LIMIT_MS = 1000;

/** The service counts whole seconds; rounded up, because the holder counts on all of `leaseMs`. */
const secondsOf = (leaseMs: number): number => Math.ceil(leaseMs / 1000);

/**
 * A lease provider over Blob leases of 15 to 60 s. Acquiring costs three requests (the first time for a name five or six, and up to a second), renewing
 * and releasing one, releasing with a slot or a minimum hold three. Do not keep the container under a lifecycle rule that deletes blobs; tokens
 * grow even then, but what is known of slots is gone.
 *
 * @example
 * const leases = blobLeases();                                   // AzureWebJobsStorage, container rerunsafe-leases
 * const leases = blobLeases({ container: service.getContainerClient('locks'), prefix: 'billing/' });
 * @throws RerunSafeError `INVALID_OPTIONS`, at once. Its methods throw `INVALID_OPTIONS` (an owner that is no GUID, a lease outside 15–60 s),
 *   `STORE_MISCONFIGURED` (no container: call `setUp()`), `STORE_UNAVAILABLE`, `WRITE_UNKNOWN`.
 */
export function blobLeases(options: BlobLeasesOptions = {}): Required<LeaseProvider> {
  checkBlobLeasesOptions(options);
  const { container: given, connection = 'AzureWebJobsStorage', containerName = 'rerunsafe-leases', prefix = '' } = options;
  const limitMs = options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
  const line: Line = given === undefined ? ownLine(limitMs) : givenLine(given, limitMs);
  const partingLine: Line = { ...line, limitMs: PARTING_LIMIT_MS, tryLimitMs: PARTING_LIMIT_MS };
  const grants = new Map<string, Grant>();

  let own: Promise<ContainerClient> | undefined;
  const containerClient = (): Promise<ContainerClient> => {
    if (given !== undefined) return Promise.resolve(given);
    // A failure is not kept: the setting may be there the next time.
    own ??= containerFrom(connection, containerName, process.env).catch((error: unknown) => {
      own = undefined;
      throw error;
    });
    return own;
  };

  const open = async (name: string, signal: AbortSignal | undefined): Promise<{ blob: LeaseBlob; parting: LeaseBlob; mine: Grants }> => {
    checkRequest({ name });
    const blobName = blobNameOf(prefix, name);
    const client = (await containerClient()).getBlockBlobClient(blobName);
    return { blob: leaseBlob(client, line, signal), parting: leaseBlob(client, partingLine, undefined), mine: grantsOf(grants, blobName) };
  };
  // The service writes lease ids in lower case, and compares them as text.
  const holderOf = ({ owner, token }: { owner: string; token: number }) => ({ owner: owner.toLowerCase(), token });

  return {
    name: 'azure-blob',
    limits: { minLeaseMs: MIN_LEASE_MS, maxLeaseMs: MAX_LEASE_MS },
    async acquire(name, request, call = {}) {
      const { owner, leaseMs, label, slot } = request;
      checkRequest({ owner, leaseMs, slot });
      const { blob, parting, mine } = await open(name, call.signal);
      return acquire(blob, parting, mine, { owner: owner.toLowerCase(), seconds: secondsOf(leaseMs), label, slot }, call.signal);
    },
    async renew(name, holder, call = {}) {
      checkRequest({ owner: holder.owner, token: holder.token, leaseMs: holder.leaseMs });
      const { blob, mine } = await open(name, call.signal);
      return renew(blob, mine, holderOf(holder), secondsOf(holder.leaseMs));
    },
    async release(name, holder, call = {}) {
      const { owner, token, slotDone, holdMs } = holder;
      checkRequest({ owner, token, slotDone, holdMs });
      const { blob, mine } = await open(name, call.signal);
      return release(blob, mine, holderOf(holder), { slotDone, holdMs: holdMs ?? 0 });
    },
    async read(name, call = {}) {
      return read((await open(name, call.signal)).blob);
    },
    async break(name, call = {}) {
      return breakLease((await open(name, call.signal)).blob, call.signal);
    },
    async setUp() {
      const container = await containerClient();
      const made = await send(line, 'write', (abortSignal) => container.createIfNotExists({ abortSignal }), undefined);
      if (!made.ok && made.kind !== 'exists') throw toError('create the container', made);
    },
  };
}
