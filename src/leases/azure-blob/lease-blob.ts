/**
 * The requests that can be made of one lease blob. No decisions here.
 *
 * @module
 */
import type { BlockBlobClient } from '@azure/storage-blob';
import type { Owner } from '../../core/record.ts';
import { type Line, type Sent, send } from './call.ts';
import type { RawMetadata } from './metadata.ts';

export interface Properties {
  readonly etag: string;
  readonly metadata: RawMetadata;
  readonly leaseState: string | undefined;
  /** The service's clock, whole seconds. */
  readonly serviceMs: number;
  readonly lastModifiedMs: number;
}

export interface LeaseBlob {
  /** With `ifMatch`: only while nobody has written to the blob since. */
  acquire(owner: Owner, seconds: number, ifMatch?: string): Promise<Sent<unknown>>;
  renew(owner: Owner, ifMatch: string): Promise<Sent<unknown>>;
  release(owner: Owner, ifMatch: string | undefined): Promise<Sent<unknown>>;
  breakNow(): Promise<Sent<unknown>>;
  create(): Promise<Sent<unknown>>;
  /** With `owner`: only while that lease is alive. */
  properties(owner?: Owner): Promise<Sent<Properties>>;
  /** Answers the new ETag. */
  setMetadata(metadata: Record<string, string>, condition: { ifMatch: string; leaseId?: Owner }): Promise<Sent<string>>;
}

export function leaseBlob(blob: BlockBlobClient, line: Line, signal: AbortSignal | undefined): LeaseBlob {
  const write = <T>(request: (abortSignal: AbortSignal) => Promise<T>): Promise<Sent<T>> => send(line, 'write', request, signal);
  const under = (ifMatch: string | undefined) => (ifMatch === undefined ? {} : { conditions: { ifMatch } });
  return {
    acquire: (owner, seconds, ifMatch) =>
      write((abortSignal) => blob.getBlobLeaseClient(owner).acquireLease(seconds, { abortSignal, ...under(ifMatch) })),
    renew: (owner, ifMatch) => write((abortSignal) => blob.getBlobLeaseClient(owner).renewLease({ abortSignal, ...under(ifMatch) })),
    release: (owner, ifMatch) => write((abortSignal) => blob.getBlobLeaseClient(owner).releaseLease({ abortSignal, ...under(ifMatch) })),
    breakNow: () => write((abortSignal) => blob.getBlobLeaseClient().breakLease(0, { abortSignal })),
    create: () => write((abortSignal) => blob.upload('', 0, { abortSignal, conditions: { ifNoneMatch: '*' } })),
    properties: (owner) =>
      send(
        line,
        'read',
        async (abortSignal) => {
          const answer = await blob.getProperties({ abortSignal, ...(owner === undefined ? {} : { conditions: { leaseId: owner } }) });
          return {
            etag: answer.etag ?? '',
            metadata: answer.metadata ?? {},
            leaseState: answer.leaseState,
            serviceMs: answer.date?.getTime() ?? Date.now(),
            lastModifiedMs: answer.lastModified?.getTime() ?? 0,
          };
        },
        signal,
      ),
    setMetadata: (metadata, conditions) => write(async (abortSignal) => (await blob.setMetadata(metadata, { abortSignal, conditions })).etag ?? ''),
  };
}
