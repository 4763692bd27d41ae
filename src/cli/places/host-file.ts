/**
 * The database of all users of a host. An administrator makes it; everybody may then read and write all records.
 *
 * Whoever writes to a database in WAL mode also makes, and when he is the last removes, the two files beside it: so all need the folder. It has no sticky
 * bit: with that the kernel (`fs.protected_regular`) refuses whoever opens a log that another user has made, and the last one could not remove it. What
 * the bit would protect, the file, everybody may write to anyway. The log takes the mode of the database from SQLite, whatever the umask.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isRerunSafeError, storeMisconfigured } from '../../core/errors.ts';
import type { PlainStore } from '../../core/ports.ts';
import { sqliteStore } from '../../stores/sqlite/store.ts';

const FOLDER_MODE = 0o777;
const FILE_MODE = 0o666;
const PARENT_MODE = 0o755;
const hasModes = process.platform !== 'win32';

/**
 * Idempotent, and safe by many at once. Modes of what is there already are left as they are: an administrator may have given it to a group.
 *
 * @param store the one at `path`
 */
export async function makeHostDatabase(path: string, store: Pick<PlainStore, 'setUp'>): Promise<void> {
  try {
    const folder = dirname(path);
    await makeParents(dirname(folder));
    if (!existsSync(folder)) await makeWhole(folder, basename(path));
    const isNew = !existsSync(path);
    await checkHostDatabase(path);
    await store.setUp();
    if (isNew && hasModes) await chmod(path, FILE_MODE);
  } catch (error) {
    throw isRerunSafeError(error) ? notAllowed(error.cause, error) : notAllowed(error, storeMisconfigured(`${path}: ${messageOf(error)}.`, error));
  }
}

/** Nobody finds the folder, or the file in it, before its mode is set. */
async function makeWhole(folder: string, name: string): Promise<void> {
  const draft = join(dirname(folder), `.records-${randomUUID()}`);
  await mkdir(draft, { mode: 0o700 });
  try {
    const store = sqliteStore({ path: join(draft, name) });
    try {
      await store.setUp();
    } finally {
      await store.close();
    }
    if (hasModes) {
      await chmod(join(draft, name), FILE_MODE);
      await chmod(draft, FOLDER_MODE);
    }
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => {});
    // Somebody else was first.
    if (!existsSync(folder)) throw error;
  }
}

async function makeParents(parent: string): Promise<void> {
  const first = await mkdir(parent, { recursive: true, mode: PARENT_MODE });
  if (first === undefined || !hasModes) return;
  for (let made = parent; made.length >= first.length; made = dirname(made)) await chmod(made, PARENT_MODE);
}

/**
 * Everybody may put something in its place: a link to a file of whoever opens it next, say root.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`
 */
export async function checkHostDatabase(path: string): Promise<void> {
  if (!hasModes) return;
  const [file, folder] = await Promise.all([path, dirname(path)].map((one) => lstat(one).catch(() => undefined)));
  // Not there, or not to be seen: SQLite says so better.
  if (file === undefined || folder === undefined) return;
  const refuse = (what: string): never => {
    throw storeMisconfigured(`${path} ${what}. It was not opened. An administrator has to look at ${dirname(path)}.`);
  };
  if (!folder.isDirectory()) refuse('is not in a folder, but behind a link');
  if (!file.isFile()) refuse('is no regular file');
  if (file.nlink > 1) refuse('has a second name (a hard link)');
  if (file.uid !== 0 && file.uid !== folder.uid) refuse(`belongs to user ${file.uid}, who has not set up the folder`);
}

const messageOf = (error: unknown): string => (error as { message?: unknown } | null)?.message?.toString() ?? String(error);

function notAllowed(cause: unknown, otherwise: Error): Error {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return otherwise;
  return storeMisconfigured(
    `this user may not make ${(cause as NodeJS.ErrnoException).path ?? 'it'} (${code}). An administrator has to set it up.`,
    cause,
  );
}
