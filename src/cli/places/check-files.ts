/**
 * The folder of a store that lies in files.
 *
 * @module
 */
import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { networkFileSystem } from '../../leases/file/place.ts';
import type { Where } from './address.ts';
import { type Finding, fine, problem } from './finding.ts';

const LEAST_FREE_BYTES = 100 * 1_048_576;

export async function checkFiles(where: Where): Promise<readonly Finding[]> {
  if (where.kind !== 'sqlite' && where.kind !== 'file') return [];
  const folder = where.kind === 'sqlite' ? dirname(where.path) : where.directory;
  if (!existsSync(folder)) {
    // Setting up makes it; that of an own database is the one that it does not.
    if (where.kind === 'sqlite' && where.keeper === 'own') return [problem('folder', `there is no folder ${folder}`, `Run: mkdir -p '${folder}'`)];
    return [];
  }
  const findings = [await checkAccess(folder, where.kind === 'sqlite' ? where.path : undefined)];
  const found = await statfs(folder).catch(() => undefined);
  if (found === undefined) return findings;
  const network = process.platform === 'linux' ? networkFileSystem(found.type) : undefined;
  if (network !== undefined) {
    findings.push(
      problem('local disk', `${folder} lies on ${network}, where locks do not hold`, 'Use a folder on a disk of this host, or a store on a server.'),
    );
  }
  const freeBytes = found.bavail * found.bsize;
  const free = `${Math.floor(freeBytes / 1_048_576)} MiB free`;
  findings.push(freeBytes < LEAST_FREE_BYTES ? problem('disk space', free, `Make room on the disk of ${folder}.`) : fine('disk space', free));
  return findings;
}

/** SQLite keeps two files beside the database, which come and go. */
async function checkAccess(folder: string, file: string | undefined): Promise<Finding> {
  const { R_OK, W_OK, X_OK } = constants;
  const may = (path: string, mode: number): Promise<boolean> =>
    access(path, mode).then(
      () => true,
      () => false,
    );
  const remedy = 'Give this user the right to it, or name another store with --store.';
  if (!(await may(folder, R_OK | W_OK | X_OK))) return problem('folder', `this user may not write in ${folder}`, remedy);
  if (file !== undefined && existsSync(file) && !(await may(file, R_OK | W_OK)))
    return problem('folder', `this user may not write to ${file}`, remedy);
  return fine('folder', `${folder} can be written to`);
}
