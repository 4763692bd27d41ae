/**
 * What this process knows of the leases it was given. Only saves requests: whatever is missing is read from the blob.
 *
 * @module
 */
import { type Instant, instant, realSystem } from '../../core/system.ts';

export interface Grant {
  readonly token: number;
  /** The blob's as the token was written. It changes with every takeover, so a renewal on this condition cannot revive a lease that another had. */
  readonly etag: string;
  /** The service's lease: renewing cannot make it longer. */
  readonly seconds: number;
  /** Before the request that last started the lease was sent; absent where another process had it. */
  readonly sentAt?: Instant;
}

export interface Grants {
  get(owner: string): Grant | undefined;
  set(owner: string, grant: Grant): void;
  delete(owner: string): void;
}

/** Holders that die without a release must not fill the memory. */
const MAX_GRANTS = 1000;

export function grantsOf(all: Map<string, Grant>, blobName: string): Grants {
  const keyOf = (owner: string): string => `${owner} ${blobName}`;
  return {
    get: (owner) => all.get(keyOf(owner)),
    set(owner, grant) {
      all.delete(keyOf(owner));
      all.set(keyOf(owner), grant);
      const oldest = all.keys().next();
      if (all.size > MAX_GRANTS && !oldest.done) all.delete(oldest.value);
    },
    delete: (owner) => void all.delete(keyOf(owner)),
  };
}

export const now = (): Instant => instant(realSystem.clock);
