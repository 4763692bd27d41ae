/**
 * Leases on one host: the kernel keeps them, a token in the lock file fences whoever lost.
 *
 * @module
 */
import { join } from 'node:path';
import { storeMisconfigured } from '../../core/errors.ts';
import type { LeaseProvider } from '../../core/ports.ts';
import { acquire } from './acquire.ts';
import { fileNameOf } from './file-name.ts';
import { release, renew } from './hold.ts';
import { Holds } from './holds.ts';
import { toError } from './map-error.ts';
import { breakLease, read } from './operate.ts';
import { checkFileLeasesOptions, checkRequest, type FileLeasesOptions, hostDirectory, MAX_LEASE_MS, MIN_LEASE_MS } from './options.ts';
import { makeDirectory, openPlace, type Place } from './place.ts';

export { type FencedFileOptions, type FencedWriteOptions, fencedClaimFile, fencedDeleteFile, fencedWriteFile } from './fenced.ts';
export type { FileLeasesOptions } from './options.ts';

const MAX_LABEL_CHARS = 256;

/**
 * A lease provider for processes of one host, over locks of its kernel (`fs-native-extensions`, an optional peer). No clock decides: a lease is never in
 * two hands. Its holder gives it up when it runs out; when it dies, in whatever way, the kernel frees it at once. A holder that is *stopped*
 * (SIGSTOP, a debugger, an endless loop) keeps it until it goes on, ends, or an operator breaks the lease.
 *
 * A lease belongs to the process and the provider object that acquired it: no other can renew or release it. Never delete lock files while anybody runs.
 *
 * @example
 * const leases = fileLeases({ directory: '/var/lib/my-app/leases' });     // processes of one user
 * const leases = fileLeases({ directory: 'host' });                       // of all users of this host
 * await leases.setUp();                                                   // once, when deployed
 * @throws RerunSafeError `INVALID_OPTIONS`, at once. Its methods throw `INVALID_OPTIONS`, `STORE_MISCONFIGURED` (no directory: call `setUp()`; no
 *   permission; a network file system; the package is missing), `STORE_UNAVAILABLE`, `WRITE_UNKNOWN` (a mark may not be on the disk).
 */
export function fileLeases(options: FileLeasesOptions): Required<LeaseProvider> {
  checkFileLeasesOptions(options);
  const onHost = options.directory === 'host';
  const directory = onHost ? hostDirectory(process.platform, process.env) : options.directory;
  const { sharedWith = onHost ? 'everyone' : 'user' } = options;
  const holds = new Holds();

  let opened: Promise<Place> | undefined;
  const place = (): Promise<Place> => {
    // A failure is not kept: the directory may be there the next time.
    opened ??= openPlace(directory, sharedWith).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const pathOf = (name: string): string => {
    checkRequest({ name });
    return join(directory, fileNameOf(name));
  };
  const keyOf = (owner: string, path: string): string => `${owner} ${path}`;
  const as = async <R>(what: string, task: (place: Place) => Promise<R>): Promise<R> => {
    try {
      return await task(await place());
    } catch (error) {
      // An entry whose checksum is right was written by something else.
      if (error instanceof SyntaxError) throw storeMisconfigured(`${what}: the lock file holds an entry that is no JSON. Break the lease.`, error);
      throw toError(what, error);
    }
  };

  return {
    name: 'file',
    limits: { minLeaseMs: MIN_LEASE_MS, maxLeaseMs: MAX_LEASE_MS },
    async acquire(name, { owner, leaseMs, label, slot }, call = {}) {
      checkRequest({ owner, leaseMs, label, slot });
      const path = pathOf(name);
      const key = keyOf(owner, path);
      const wanted = { name, owner, leaseMs, label: label?.slice(0, MAX_LABEL_CHARS), slot };
      return holds.inTurn(key, () => as('acquire the lease', (at) => acquire(at, holds, key, path, wanted, call.signal)));
    },
    async renew(name, { owner, token, leaseMs }) {
      checkRequest({ owner, token, leaseMs });
      const key = keyOf(owner, pathOf(name));
      return holds.inTurn(key, () => as('renew the lease', (at) => renew(at, holds, key, token, leaseMs)));
    },
    async release(name, { owner, token, slotDone, holdMs }) {
      checkRequest({ owner, token, slotDone, holdMs });
      const path = pathOf(name);
      const key = keyOf(owner, path);
      return holds.inTurn(key, () => as('release the lease', (at) => release(at, holds, key, path, owner, { slotDone, holdMs: holdMs ?? 0 })));
    },
    async read(name) {
      const path = pathOf(name);
      return as('read the lease', (at) => read(at, path));
    },
    async break(name, call = {}) {
      const path = pathOf(name);
      return as('break the lease', (at) => breakLease(at, name, path, call.signal));
    },
    async setUp() {
      await makeDirectory(directory, sharedWith);
    },
  };
}
