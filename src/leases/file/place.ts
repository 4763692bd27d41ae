/**
 * The directory of the lock files: made by `setUp`, looked at once before it is used.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, rename, rmdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storeMisconfigured } from '../../core/errors.ts';
import { codeOf, toError } from './map-error.ts';
import { type KernelLocks, loadKernelLocks } from './native-lock.ts';
import type { Access } from './open.ts';
import type { SharedWith } from './options.ts';
import { type StampNow, stampClock } from './stamp.ts';

/** What a provider works with, once it was used. */
export interface Place {
  readonly directory: string;
  readonly access: Access;
  readonly locks: KernelLocks;
  readonly stamp: StampNow;
}

/** With the sticky bit only a file's owner (or the directory's, or root) can delete or replace it; with the group bit new files keep the group. */
const DIRECTORY_MODE: Readonly<Record<SharedWith, number>> = { user: 0o700, group: 0o2770, everyone: 0o1777 };
const FILE_MODE: Readonly<Record<SharedWith, number>> = { user: 0o600, group: 0o660, everyone: 0o666 };

const STICKY = 0o1000;
const FOR_GROUP = 0o020;
const FOR_OTHERS = 0o002;
const PERMISSIONS = 0o777;
const PASSABLE = 0o755;

const accessOf = (sharedWith: SharedWith): Access => ({
  fileMode: FILE_MODE[sharedWith],
  ownOnly: sharedWith === 'user',
  oneName: sharedWith !== 'user',
});

export async function openPlace(directory: string, sharedWith: SharedWith): Promise<Place> {
  const [locks, stamp] = await Promise.all([loadKernelLocks(), stampClock(), checkDirectory(directory, sharedWith)]);
  return { directory, access: accessOf(sharedWith), locks, stamp };
}

/** Idempotent. A directory that is there already is not changed: it may serve others too. */
export async function makeDirectory(directory: string, sharedWith: SharedWith): Promise<void> {
  const mode = DIRECTORY_MODE[sharedWith];
  try {
    await makeParents(dirname(directory), sharedWith);
    if (!(await isThere(directory))) await makeWhole(directory, mode);
  } catch (error) {
    throw toError('make the directory for leases', error);
  }
  await checkDirectory(directory, sharedWith);
  if (process.platform === 'win32' || sharedWith === 'user') return;
  const standing = (await stat(directory)).mode;
  if ((standing & mode & PERMISSIONS) !== (mode & PERMISSIONS)) {
    throw storeMisconfigured(
      `${directory} has the mode ${octal(standing)}, and can so not be shared with ${sharedWith}. Run: chmod ${octal(mode)} ${directory}`,
    );
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );

const THERE: ReadonlySet<string | undefined> = new Set(['EEXIST', 'ENOTEMPTY']);

/** Nobody finds it before its mode is set: half made, it would be refused, or (under an open umask) let locks be taken away. */
async function makeWhole(directory: string, mode: number): Promise<void> {
  const made = join(dirname(directory), `.rerunsafe-${randomUUID()}`);
  await mkdir(made, { mode: 0o700 });
  try {
    // Past the umask, and with the bits that mkdir does not set.
    await chmod(made, mode);
    await rename(made, directory);
  } catch (error) {
    await rmdir(made).catch(() => {});
    // Somebody else was first. On Windows that is told as EPERM.
    if (!THERE.has(codeOf(error)) && !(codeOf(error) === 'EPERM' && (await isThere(directory)))) throw error;
  }
}

/** Others have to get through them, whatever the umask of who sets up. */
async function makeParents(parent: string, sharedWith: SharedWith): Promise<void> {
  const first = await mkdir(parent, { recursive: true, mode: sharedWith === 'user' ? PERMISSIONS : PASSABLE });
  if (first === undefined || sharedWith === 'user') return;
  for (let made = parent; made.length >= first.length; made = dirname(made)) await chmod(made, PASSABLE);
}

/**
 * @throws RerunSafeError `STORE_MISCONFIGURED`: no directory, one in which somebody who should not may delete a lock file that is held (a second one
 * would be made, and held too), or one on a network, where locks are kept by a server that forgets them without a word.
 */
export async function checkDirectory(directory: string, sharedWith: SharedWith): Promise<void> {
  try {
    const found = await stat(directory);
    if (!found.isDirectory()) throw storeMisconfigured(`${directory} is no directory.`);
    const risk = process.platform === 'win32' ? undefined : whoMayDelete(directory, found, sharedWith);
    if (risk !== undefined) throw storeMisconfigured(risk);
    const network = process.platform === 'linux' ? networkFileSystem((await statfs(directory)).type) : undefined;
    if (network !== undefined) throw storeMisconfigured(`${directory} lies on ${network}. Locks hold only on a local file system.`);
  } catch (error) {
    throw toError('look at the directory for leases', error);
  }
}

/** The sticky bit does not bind the directory's owner, and without it, whoever may write into a directory may delete what is in it. */
function whoMayDelete(directory: string, { mode, uid, gid }: { mode: number; uid: number; gid: number }, sharedWith: SharedWith): string | undefined {
  const loose = (mode & STICKY) === 0;
  if (loose && (mode & FOR_OTHERS) !== 0) return `in ${directory} anybody may delete or replace lock files. Run: chmod +t ${directory}`;
  if (loose && (mode & FOR_GROUP) !== 0 && sharedWith === 'user') {
    return `in ${directory} its group may delete or replace lock files. Run: chmod go-w ${directory}, or see the option sharedWith`;
  }
  if (uid === 0 || uid === process.geteuid?.()) return undefined;
  // Of a group that shares it, anybody may delete lock files anyway.
  if (sharedWith === 'group' && (mode & FOR_OTHERS) === 0 && (gid === process.getegid?.() || process.getgroups?.().includes(gid))) return undefined;
  return `${directory} belongs to another user (${uid}), who could take away locks that are held. Run: chown root ${directory}, or use one of your own`;
}

const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB (CIFS)'],
  [0xfe534d42, 'SMB 2'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
]);

/** By the magic numbers of statfs(2). */
export const networkFileSystem = (type: number): string | undefined => NETWORKS.get(type);

const octal = (mode: number): string => (mode & 0o7777).toString(8);
