/**
 * Writes of whole files that a stale holder cannot make. Beside each file lies another, `<file>.fence`, that keeps the highest token that has touched it.
 *
 * The check sees a newer holder only once that has touched the file. So claim first ({@link fencedClaimFile}), then work on what it returns.
 *
 * @module
 */
import type { Stats } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { types } from 'node:util';
import { RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { checkOptions, isInteger, isSignal, type Rule, type Rules } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { ifAbsent, targetOf } from './fenced-target.ts';
import { type LockedFile, lockFile } from './locked-file.ts';
import { toError } from './map-error.ts';
import { loadKernelLocks } from './native-lock.ts';
import { type Access, create, openToRead, syncDirectory } from './open.ts';

export interface FencedFileOptions {
  /** How long to wait for another process that is just writing the file, ms. Default 10,000; then `STORE_UNAVAILABLE`. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

export interface FencedWriteOptions extends FencedFileOptions {
  /** Permissions, such as 0o640. Default: those of the file as it stands; of a new one, what the umask leaves of 0o666. */
  readonly mode?: number;
}

const DEFAULT_WAIT_MS = 10_000;
/** As for the file itself, the umask and the directory decide. */
const AS_THE_FILE: Access = { fileMode: undefined, ownOnly: false, oneName: false };

/**
 * Replaces the file, unless a holder with a higher token has touched it: written beside it, brought to the disk, renamed, all under a lock of the kernel. A
 * reader sees the old contents or the new, never a part; a crash leaves one or the other. One file must be guarded by one lease only: tokens of two
 * cannot be compared. Never delete `<file>.fence`.
 *
 * Symbolic links are followed: all of them lead to the one fence of the file. Hard links are not: a write gives the name it is told a file of its own, the
 * other names keep the old contents, and each has a fence of its own.
 *
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`; `STORE_UNAVAILABLE` and `STORE_MISCONFIGURED`: the file is as it was;
 * `WRITE_UNKNOWN`: it may be the new one, or may go back to the old with a power cut. Write it again.
 *
 * @example await withLease(leases, 'report', {}, (lease) => fencedWriteFile('/srv/report.csv', lease.fence, csv));
 */
export async function fencedWriteFile(path: string, fence: Fence, data: string | Uint8Array, options: FencedWriteOptions = {}): Promise<void> {
  const { mode, ...rest } = options;
  check('fencedWriteFile', path, fence, { ...options, data }, { data: isData }, { mode: isInteger(0, 0o777) });
  // Taken once: the caller may change it while we wait.
  const bytes = Buffer.from(data as Uint8Array);
  const what = 'write a file under a fence';
  await underFence(path, fence, rest, what, async (target) => {
    const successor = `${target}.fence-new`;
    // Of a write that a crash ended.
    await rm(successor, { force: true });
    try {
      await writeSuccessor(successor, bytes, mode, await stat(target).catch(ifAbsent));
      await change(what, target, () => rename(successor, target));
    } catch (error) {
      // Where the disk is full, it would stay full.
      await rm(successor, { force: true }).catch(() => {});
      throw error;
    }
  });
}

async function writeSuccessor(path: string, bytes: Buffer, mode: number | undefined, standing: Stats | undefined): Promise<void> {
  const handle = await create(path, { fileMode: mode ?? (standing === undefined ? undefined : standing.mode & 0o777) });
  if (handle === undefined) throw storeUnavailable(`${path} was made by somebody else`, undefined);
  try {
    if (standing !== undefined) await keepOwner(handle, standing);
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Until `act` nothing has changed; once it is done, no failure may say so. */
async function change(what: string, target: string, act: () => Promise<void>): Promise<void> {
  // Opened first: a directory that we may not read is refused while all stands as it was.
  const directory = process.platform === 'win32' ? undefined : await open(dirname(target), 'r');
  try {
    await act().catch((error) => Promise.reject(toError(what, error, true)));
    await directory?.sync().catch((error) => Promise.reject(writeUnknown(what, error)));
  } finally {
    await directory?.close().catch(() => {});
  }
}

/**
 * Keeps lower tokens out from now on, and returns the file as it stands at that moment; `undefined` where there is none.
 *
 * @throws RerunSafeError as {@link fencedWriteFile}.
 *
 * @example
 * const { data } = await fencedClaimFile('/srv/total.json', lease.fence);
 * const { total } = data === undefined ? { total: 0 } : JSON.parse(data.toString());
 */
export async function fencedClaimFile(path: string, fence: Fence, options: FencedFileOptions = {}): Promise<{ readonly data: Buffer | undefined }> {
  check('fencedClaimFile', path, fence, options);
  return underFence(path, fence, options, 'claim a file', async (target) => {
    const handle = await openToRead(target, AS_THE_FILE);
    try {
      return { data: await handle?.readFile() };
    } finally {
      await handle?.close();
    }
  });
}

/**
 * Deletes the file, unless a holder with a higher token has touched it. `<file>.fence` stays, so that a stale holder cannot bring it back.
 *
 * @throws RerunSafeError as {@link fencedWriteFile}.
 */
export async function fencedDeleteFile(path: string, fence: Fence, options: FencedFileOptions = {}): Promise<void> {
  check('fencedDeleteFile', path, fence, options);
  const what = 'delete a file under a fence';
  await underFence(path, fence, options, what, (target) => change(what, target, () => rm(target, { force: true })));
}

interface FenceRecord {
  readonly token: number;
  /** For people. */
  readonly lease: string;
}

async function underFence<R>(
  path: string,
  fence: Fence,
  { waitMs = DEFAULT_WAIT_MS, signal }: FencedFileOptions,
  what: string,
  task: (target: string) => Promise<R>,
): Promise<R> {
  try {
    const target = await targetOf(path);
    const file = await lockFile(`${target}.fence`, { access: AS_THE_FILE, locks: await loadKernelLocks(), waitMs, signal });
    if (file === 'held') throw storeUnavailable(`another process has been writing ${target} for ${waitMs} ms`, undefined);
    try {
      // Before the file itself changes: should we be killed in between, nothing but our own right to go on is lost.
      await raise(file, fence, target);
      return await task(target);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw toError(what, error);
  }
}

async function raise(file: LockedFile, fence: Fence, target: string): Promise<void> {
  const { kind, entry } = await file.read();
  const { token: stored = 0 } = (entry?.body ?? {}) as Partial<FenceRecord>;
  if (kind === 'unreadable' || !Number.isSafeInteger(stored)) {
    throw storeMisconfigured(
      `${file.path} cannot be read: it is damaged, or was written by something else. Which token is the highest is not known any more, so nobody may write. Once no earlier holder can be at work, delete it: the next write makes a new one.`,
    );
  }
  if (stored > fence.token) {
    throw new RerunSafeError(
      'STALE_TOKEN',
      `A newer holder of ${fence.id} has touched ${target} (token ${stored}, ours is ${fence.token}). Nothing was written: the lease is over, stop the work.`,
      { facts: { id: fence.id, token: fence.token, storedToken: stored } },
    );
  }
  if (stored < fence.token) await file.write({ token: fence.token, lease: fence.id.slice(0, 512) } satisfies FenceRecord);
  if (kind === 'empty') await syncDirectory(dirname(target));
}

/** A new file belongs to whoever wrote it. Only root can give it away; for others it would be no error that it stays theirs. */
async function keepOwner(handle: FileHandle, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => {});
}

const isPath: Rule = (value) => (typeof value === 'string' && value !== '' && !value.includes('\0') ? undefined : 'must be a path');

/** Of other arrays of numbers each would be cut down to a byte; of an object nothing would be left. */
const isData: Rule = (value) => (typeof value === 'string' || types.isUint8Array(value) ? undefined : 'must be a string or a Uint8Array');

function check(what: string, path: unknown, fence: unknown, options: object, required: Rules = {}, optional: Rules = {}): void {
  const { id, token } = (fence ?? {}) as Partial<Fence>;
  const rules = {
    path: isPath,
    'fence.id': ((value) => (typeof value === 'string' ? undefined : 'must be a string')) satisfies Rule,
    'fence.token': isInteger(0),
    waitMs: isInteger(0, 2_147_483_647),
    signal: isSignal,
    ...required,
    ...optional,
  };
  checkOptions(what, { ...options, path, 'fence.id': id, 'fence.token': token }, rules, [
    'path',
    'fence.id',
    'fence.token',
    ...Object.keys(required),
  ]);
}
