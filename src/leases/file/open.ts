/**
 * Opening a file that others may have put there, or taken away.
 *
 * @module
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { storeMisconfigured, storeUnavailable } from '../../core/errors.ts';
import { codeOf } from './map-error.ts';

/** Who may use a file that we make, and whose files we use. */
export interface Access {
  /** Of a new file, whatever the umask. undefined: as the umask says. */
  readonly fileMode: number | undefined;
  /** Others may put files where ours belong: only our own or root's are used. */
  readonly ownOnly: boolean;
  /** Refuses a file that has a second name, which could be one of somebody else's that we would write to. */
  readonly oneName: boolean;
}

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = constants;
/** Not on Windows. A link, or a pipe, in the place of a lock file is no accident. Node adds O_CLOEXEC to every open: children inherit none of them. */
const SAFELY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const MOST_ROUNDS = 20;
const ROUND_PAUSE_MS = 5;

/** undefined: there is none. */
export async function openToRead(path: string, access: Access): Promise<FileHandle | undefined> {
  const handle = await openIfThere(path, O_RDONLY);
  return handle && checked(handle, path, access);
}

/** Makes it where there is none. */
export async function openToWrite(path: string, access: Access): Promise<FileHandle> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    // First without O_CREAT: Linux refuses that for files of others in a sticky directory (fs.protected_regular), even where they may be written.
    const handle = (await openIfThere(path, O_RDWR)) ?? (await create(path, access));
    if (handle !== undefined) return checked(handle, path, access);
  }
  throw storeUnavailable(`${path} is deleted as often as it is made`, undefined);
}

/** A new file; undefined where there is one already. */
export async function create(path: string, { fileMode }: Pick<Access, 'fileMode'>): Promise<FileHandle | undefined> {
  try {
    const handle = await open(path, O_RDWR | O_CREAT | O_EXCL | SAFELY, fileMode ?? 0o666);
    if (fileMode !== undefined) await handle.chmod(fileMode).catch((error) => closing(handle, error));
    return handle;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw error;
  }
}

async function openIfThere(path: string, flags: number): Promise<FileHandle | undefined> {
  for (let round = 0; ; round += 1) {
    try {
      return await open(path, flags | SAFELY);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      // Its maker may be about to change the mode.
      if (codeOf(error) !== 'EACCES' || round >= 2) throw error;
      await pause(ROUND_PAUSE_MS);
    }
  }
}

async function checked(handle: FileHandle, path: string, { ownOnly, oneName }: Access): Promise<FileHandle> {
  const stat = await handle.stat().catch((error) => closing(handle, error));
  const wrong = (what: string): Promise<never> => closing(handle, storeMisconfigured(`${path} ${what}. It was not written to.`));
  if (!stat.isFile()) return wrong('is no regular file');
  if (oneName && stat.nlink > 1) return wrong('has a second name (a hard link)');
  const user = process.geteuid?.();
  if (ownOnly && user !== undefined && user !== 0 && stat.uid !== user && stat.uid !== 0) return wrong(`belongs to another user (${stat.uid})`);
  return handle;
}

async function closing(handle: FileHandle, error: unknown): Promise<never> {
  await handle.close();
  throw error;
}

/** Whether the path still leads to this open file. Its number cannot be given to a new one while it is open. */
export async function isAt(handle: FileHandle, path: string): Promise<boolean> {
  const [ours, there] = await Promise.all([
    handle.stat({ bigint: true }),
    lstat(path, { bigint: true }).catch((error) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }),
  ]);
  return there !== undefined && ours.ino === there.ino && ours.dev === there.dev;
}

/** Makes a new, renamed or deleted name survive a power cut, where directories can be synchronised (not on Windows). */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
