/**
 * Uploads that a stale holder cannot make.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { BlobHTTPHeaders, BlockBlobClient } from '@azure/storage-blob';
import { RerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import { checkOptions, has, isInteger, isObject } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { send } from './call.ts';
import { givenLine } from './client.ts';
import { toError } from './map-error.ts';

export interface FencedUploadOptions {
  /** The blob's new metadata, beside `fence` and `fencewrite`, which are kept for the check. As with any upload, it replaces the old. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly blobHTTPHeaders?: BlobHTTPHeaders;
  /** Where the blob is leased. */
  readonly leaseId?: string;
  readonly signal?: AbortSignal;
  /** For one request, in ms. Default: 30000. */
  readonly requestTimeoutMs?: number;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const MAX_ROUNDS = 20;

/**
 * Replaces the blob, unless a holder with a higher token has written to it. Two requests. The check is per blob: a stale holder is refused from the
 * moment its successor has written *here*, so let the successor write before it reads. Deleting the blob deletes the fence.
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
  checkUpload(blobClient, fence, options);
  const line = givenLine(blobClient, options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS);
  // Taken once: an array that the caller changes meanwhile must not be written half and half by two tries.
  const bytes = Buffer.from(data as Uint8Array);
  const nonce = randomUUID();
  const metadata = { ...options.metadata, fence: String(fence.token), fencewrite: nonce };
  let doubt = false;
  let last: Parameters<typeof toError>[1] | undefined;

  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const standing = await send(line, 'read', (abortSignal) => blobClient.getProperties({ abortSignal }), options.signal);
    if (!standing.ok && standing.kind !== 'no-blob') throw toError('read the fence', { ...standing, doubt });
    const found = standing.ok ? standing.value : undefined;
    // Our own write, whose answer was lost: seen as a conflict with itself otherwise.
    if (found?.metadata?.fencewrite === nonce) return { etag: found.etag ?? '' };
    const storedToken = tokenOf(found?.metadata?.fence);
    if (storedToken > fence.token) throw stale(fence, storedToken);

    const conditions = {
      ...(found?.etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: found.etag }),
      ...(options.leaseId === undefined ? {} : { leaseId: options.leaseId }),
    };
    const headers = options.blobHTTPHeaders === undefined ? {} : { blobHTTPHeaders: options.blobHTTPHeaders };
    const written = await send(
      line,
      'write',
      (abortSignal) => blobClient.uploadData(bytes, { abortSignal, conditions, metadata, ...headers }),
      options.signal,
    );
    if (written.ok) return { etag: written.value.etag ?? '' };
    doubt ||= written.doubt;
    last = { ...written, doubt };
    const again = ['changed', 'exists', 'unknown', 'unavailable'].includes(written.kind);
    if (!again) throw toError('upload under a fence', last);
    if ((written.kind === 'unknown' || written.kind === 'unavailable') && round >= 2) throw toError('upload under a fence', last);
  }
  throw toError('upload under a fence; others write to the blob all the time', last ?? { kind: 'unavailable', error: undefined, doubt });
}

function checkUpload(blobClient: unknown, fence: unknown, options: unknown): void {
  checkOptions(
    'fencedUpload',
    { blobClient, token: (fence as Fence | undefined)?.token, options },
    { blobClient: has('getProperties', 'uploadData'), token: isInteger(0), options: isObject },
    ['blobClient', 'token'],
  );
}

const stale = (fence: Fence, storedToken: number): RerunSafeError =>
  new RerunSafeError(
    'STALE_TOKEN',
    `The blob was written by a later holder (token ${storedToken}) than this one (token ${fence.token}). Nothing was written: the lease is over, stop the work.`,
    { facts: { token: fence.token, storedToken } },
  );

function tokenOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const token = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(token)) throw storeMisconfigured('the metadata "fence" of the blob is not a whole number.');
  return token;
}
