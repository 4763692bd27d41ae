/**
 * The user's own database: the one that is made without being asked for. It appears whole or not at all, however many start at once.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storeMisconfigured } from '../../core/errors.ts';
import { syncDirectory } from '../../leases/file/open.ts';
import { sqliteStore } from '../../stores/sqlite/store.ts';

/** @throws RerunSafeError `STORE_MISCONFIGURED` where there is no place for it. */
export async function makeUserDatabase(path: string): Promise<void> {
  if (existsSync(path)) return;
  const folder = dirname(path);
  try {
    await makeFolder(folder);
  } catch (cause) {
    throw noFolder(folder, cause);
  }
  // Set up under a name that nobody else looks at: a file in its place that has no table yet would be refused.
  const draft = join(folder, `.records-${randomUUID()}`);
  try {
    await setUp(draft);
    // What commands have printed may be kept there, and the folder was perhaps there already, open to others.
    await chmod(draft, 0o600);
    await putInPlace(draft, path);
  } finally {
    for (const file of [draft, `${draft}-wal`, `${draft}-shm`, `${draft}-journal`]) await rm(file, { force: true }).catch(() => {});
  }
}

/** One after the other: under a folder that takes none (`/proc`), Node's own `recursive` tries for ever. */
async function makeFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) await makeFolder(parent);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Somebody was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

async function setUp(path: string): Promise<void> {
  const store = sqliteStore({ path });
  try {
    await store.setUp();
  } finally {
    await store.close();
  }
}

/** A link takes no name that is taken, which a rename would: and with it what others have written there meanwhile. */
async function putInPlace(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
    // What is answered from now on is on the disk, and so must be its name.
    await syncDirectory(dirname(path));
  } catch {
    // Somebody was first, or the file system has no links: then it is set up where it is, which is safe too, only not seen as a whole.
    if (!existsSync(path)) await setUp(path);
  }
}

const noFolder = (folder: string, cause: unknown) =>
  storeMisconfigured(
    `the folder ${folder} could not be made (${String((cause as NodeJS.ErrnoException).code)}). Set XDG_STATE_HOME to a folder of this user, or name a store with --store.`,
    cause,
  );
