/**
 * Writes to the caller's own blobs that a stale holder cannot make. The check is per blob: a stale holder is refused from the moment its successor has
 * touched *this* one. So claim first ({@link fencedClaim}), then read what the work depends on.
 *
 * @module
 */
import type { BlobHTTPHeaders, BlockBlobClient } from '@azure/storage-blob';
import { storeUnavailable } from '../../core/errors.ts';
import type { Fence } from '../../core/ports.ts';
import { send } from './call.ts';
import { type FencedBlobOptions, fencedWrite, lineOf } from './fenced-write.ts';
import { toError } from './map-error.ts';

export interface FencedUploadOptions extends FencedBlobOptions {
  /** The blob's new metadata, beside `fence`, `fencewrite` and `fencedeleted`, which are kept for the check. As with any upload, it replaces the old. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly blobHTTPHeaders?: BlobHTTPHeaders;
}

/** A claim whose blob changed before it was read was overtaken, or was its own holder's next write. */
const MAX_READS = 5;
const DELETED = { fencedeleted: 'true' };

/** A deleted blob leaves an empty one behind, with its fence, so that a stale holder cannot bring it back. Treat such a blob as absent. */
export const isFencedDeletion = (metadata: Readonly<Record<string, string>> | undefined): boolean => metadata?.fencedeleted === 'true';

/**
 * Replaces the blob, unless a holder with a higher token has touched it. Two requests. Deleting the blob by other means deletes the fence.
 *
 * @example await fencedUpload(container.getBlockBlobClient('report.csv'), lease.fence, csv);
 * @returns the ETag of what was written.
 * @throws RerunSafeError `STALE_TOKEN` with `{ token, storedToken }`, `WRITE_UNKNOWN`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`.
 */
export async function fencedUpload(
  blobClient: BlockBlobClient,
  fence: Fence,
  data: string | Uint8Array,
  options: FencedUploadOptions = {},
): Promise<{ etag: string }> {
  // Taken once: an array that the caller changes meanwhile must not be written half and half by two tries.
  const bytes = Buffer.from(data as Uint8Array);
  const headers = options?.blobHTTPHeaders === undefined ? {} : { blobHTTPHeaders: options.blobHTTPHeaders };
  const { etag } = await fencedWrite('fencedUpload', blobClient, fence, options, ({ conditions, marks, abortSignal }) =>
    blobClient.uploadData(bytes, { abortSignal, conditions, metadata: { ...withoutDeletion(options.metadata), ...marks }, ...headers }),
  );
  return { etag };
}

/** Metadata that was read from a claim may carry the mark; what is uploaded is there. */
const withoutDeletion = (metadata: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => name.toLowerCase() !== 'fencedeleted'));

/**
 * Sets the fence and returns the blob as it stood at that moment: from then on lower tokens are refused. Three requests. Claiming what does not exist
 * leaves an empty blob with a mark ({@link isFencedDeletion}), and returns `data: undefined`.
 *
 * @example const { data } = await fencedClaim(container.getBlockBlobClient('report.csv'), lease.fence);
 * @throws RerunSafeError as {@link fencedUpload}.
 */
export async function fencedClaim(
  blobClient: BlockBlobClient,
  fence: Fence,
  options: FencedBlobOptions = {},
): Promise<{ etag: string; data: Buffer | undefined }> {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const { etag, found } = await fencedWrite('fencedClaim', blobClient, fence, options, ({ found: standing, conditions, marks, abortSignal }) =>
      standing === undefined
        ? blobClient.upload('', 0, { abortSignal, conditions, metadata: { ...DELETED, ...marks } })
        : blobClient.setMetadata({ ...standing.metadata, ...marks }, { abortSignal, conditions }),
    );
    if (found === undefined || isFencedDeletion(found.metadata)) return { etag, data: undefined };
    const size = found.contentLength ?? 0;
    if (size === 0) return { etag, data: Buffer.alloc(0) };
    const conditions = { ifMatch: etag, ...(options.leaseId === undefined ? {} : { leaseId: options.leaseId }) };
    const read = await send(
      lineOf(blobClient, options),
      'read',
      // In one piece: the SDK would make a request of every 4 MB.
      (abortSignal) => blobClient.downloadToBuffer(0, size, { abortSignal, conditions, blockSize: size }),
      options.signal,
    );
    if (read.ok) return { etag, data: read.value };
    if (read.kind !== 'changed') throw toError('read what was claimed', { ...read, doubt: false });
  }
  throw storeUnavailable(`the blob of ${fence.id} was changed as often as it was claimed`, undefined);
}

/**
 * Deletes the blob, unless a higher token has touched it. In its place stays an empty one with the fence ({@link isFencedDeletion}). Two requests.
 *
 * @throws RerunSafeError as {@link fencedUpload}.
 */
export async function fencedDelete(blobClient: BlockBlobClient, fence: Fence, options: FencedBlobOptions = {}): Promise<{ etag: string }> {
  const { etag } = await fencedWrite('fencedDelete', blobClient, fence, options, ({ conditions, marks, abortSignal }) =>
    blobClient.upload('', 0, { abortSignal, conditions, metadata: { ...DELETED, ...marks } }),
  );
  return { etag };
}
