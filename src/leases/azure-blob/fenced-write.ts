/**
 * One conditional write under a fence: the blob's metadata has the highest token that has touched it.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import type { BlobGetPropertiesResponse, BlockBlobClient } from '@azure/storage-blob';
import { RerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import { checkOptions, has, isInteger, isObject } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { send } from './call.ts';
import { givenLine } from './client.ts';
import { toError } from './map-error.ts';

export interface FencedBlobOptions {
  /** Where the blob is leased. */
  readonly leaseId?: string;
  readonly signal?: AbortSignal;
  /** For one request, in ms. Default: 30000. */
  readonly requestTimeoutMs?: number;
}

/** What one try of the write is told; `found` is undefined where there is no blob. */
export interface Try {
  readonly found: BlobGetPropertiesResponse | undefined;
  readonly conditions: { readonly ifMatch?: string; readonly ifNoneMatch?: string; readonly leaseId?: string };
  /** Part of the metadata, for the check. */
  readonly marks: { readonly fence: string; readonly fencewrite: string };
  readonly abortSignal: AbortSignal;
}

export interface FencedWritten {
  readonly etag: string;
  readonly found: BlobGetPropertiesResponse | undefined;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const MAX_ROUNDS = 20;

export const lineOf = (blobClient: BlockBlobClient, { requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS }: FencedBlobOptions) =>
  givenLine(blobClient, requestTimeoutMs);

/** @throws RerunSafeError `STALE_TOKEN` with both tokens, `WRITE_UNKNOWN`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS`. */
export async function fencedWrite(
  what: string,
  blobClient: BlockBlobClient,
  fence: Fence,
  options: FencedBlobOptions,
  write: (given: Try) => Promise<{ readonly etag?: string | undefined }>,
): Promise<FencedWritten> {
  check(what, blobClient, fence, options);
  const line = lineOf(blobClient, options);
  const nonce = randomUUID();
  const marks = { fence: String(fence.token), fencewrite: nonce };
  let doubt = false;
  let last: Parameters<typeof toError>[1] | undefined;

  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const standing = await send(line, 'read', (abortSignal) => blobClient.getProperties({ abortSignal }), options.signal);
    if (!standing.ok && standing.kind !== 'no-blob') throw toError('read the fence', { ...standing, doubt });
    const found = standing.ok ? standing.value : undefined;
    // Our own write, whose answer was lost: seen as a conflict with itself otherwise.
    if (found?.metadata?.fencewrite === nonce) return { etag: found.etag ?? '', found };
    const storedToken = tokenOf(found?.metadata?.fence);
    if (storedToken > fence.token) throw stale(fence, storedToken);

    const conditions = {
      ...(found?.etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: found.etag }),
      ...(options.leaseId === undefined ? {} : { leaseId: options.leaseId }),
    };
    const written = await send(line, 'write', (abortSignal) => write({ found, conditions, marks, abortSignal }), options.signal);
    if (written.ok) return { etag: written.value.etag ?? '', found };
    doubt ||= written.doubt;
    last = { ...written, doubt };
    const again = ['changed', 'exists', 'unknown', 'unavailable'].includes(written.kind);
    if (!again) throw toError(`${what} under a fence`, last);
    if ((written.kind === 'unknown' || written.kind === 'unavailable') && round >= 2) throw toError(`${what} under a fence`, last);
  }
  throw toError(`${what} under a fence; others write to the blob all the time`, last ?? { kind: 'unavailable', error: undefined, doubt });
}

function check(what: string, blobClient: unknown, fence: unknown, options: unknown): void {
  checkOptions(
    what,
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
