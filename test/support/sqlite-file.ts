/**
 * A folder for a database, gone afterwards with the log files beside it.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DatabaseFolder {
  readonly path: string;
  remove(): Promise<void>;
}

export async function databaseFolder(): Promise<DatabaseFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-sqlite-'));
  return { path: join(folder, 'records.db'), remove: () => rm(folder, { recursive: true, force: true }) };
}
