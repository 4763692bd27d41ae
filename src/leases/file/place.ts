/**
 * The directory of the lock files: made by `setUp`, looked at once before it is used.
 *
 * @module
 */
import { chmod, mkdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
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
const FOR_OTHERS = 0o002;
const PERMISSIONS = 0o777;
const PASSABLE = 0o755;

const accessOf = (sharedWith: SharedWith): Access => ({
  fileMode: FILE_MODE[sharedWith],
  ownOnly: sharedWith === 'user',
  oneName: sharedWith !== 'user',
});

export async function openPlace(directory: string, sharedWith: SharedWith): Promise<Place> {
  const [locks, stamp] = await Promise.all([loadKernelLocks(), stampClock(), checkDirectory(directory)]);
  return { directory, access: accessOf(sharedWith), locks, stamp };
}

/** Idempotent. A directory that is there already is not changed: it may serve others too. */
export async function makeDirectory(directory: string, sharedWith: SharedWith): Promise<void> {
  const mode = DIRECTORY_MODE[sharedWith];
  try {
    await makeParents(dirname(directory), sharedWith);
    await mkdir(directory, { mode: mode & PERMISSIONS });
    // Past the umask, and with the bits that mkdir does not set.
    await chmod(directory, mode);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw toError('make the directory for leases', error);
  }
  await checkDirectory(directory);
  if (process.platform === 'win32' || sharedWith === 'user') return;
  const standing = (await stat(directory)).mode;
  if ((standing & mode & PERMISSIONS) !== (mode & PERMISSIONS)) {
    throw storeMisconfigured(
      `${directory} has the mode ${octal(standing)}, and can so not be shared with ${sharedWith}. Run: chmod ${octal(mode)} ${directory}`,
    );
  }
}

/** Others have to get through them, whatever the umask of who sets up. */
async function makeParents(parent: string, sharedWith: SharedWith): Promise<void> {
  const first = await mkdir(parent, { recursive: true });
  if (first === undefined || sharedWith === 'user') return;
  for (let made = parent; made.length >= first.length; made = dirname(made)) await chmod(made, PASSABLE);
}

/**
 * @throws RerunSafeError `STORE_MISCONFIGURED`: no directory, one in which anybody may delete a lock file that is held (a second one would be made, and
 * held too), or one on a network, where locks are kept by a server that forgets them without a word.
 */
export async function checkDirectory(directory: string): Promise<void> {
  try {
    const { mode } = await stat(directory);
    const forAll = (mode & FOR_OTHERS) !== 0 && (mode & STICKY) === 0;
    if (forAll && process.platform !== 'win32') {
      throw storeMisconfigured(`in ${directory} anybody may delete or replace lock files. Run: chmod +t ${directory}`);
    }
    const network = process.platform === 'linux' ? networkFileSystem((await statfs(directory)).type) : undefined;
    if (network !== undefined) throw storeMisconfigured(`${directory} lies on ${network}. Locks hold only on a local file system.`);
  } catch (error) {
    throw toError('look at the directory for leases', error);
  }
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
