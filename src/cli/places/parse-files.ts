/**
 * `sqlite:` and `file:`. A path is taken as it is: nothing is decoded, so that whatever folder one is in can be handed on.
 *
 * @module
 */
import { basename, isAbsolute, join, resolve } from 'node:path';
import { UsageError } from '../usage-error.ts';
import type { Address } from './address.ts';
import { hostFolder, stateFolder } from './folders.ts';

export const RECORDS_FILE = 'records.db';
/** A folder of its own for the host's records: all users may write there, and so could move away the folder of leases that lay beside them. */
const HOST_RECORDS = 'records';
const LEASES = 'leases';

export function parseSqlite(rest: string, env: NodeJS.ProcessEnv): Address {
  if (rest === '') return { url: 'sqlite:', shown: 'sqlite:', where: { kind: 'sqlite', keeper: 'user', path: join(stateFolder(env), RECORDS_FILE) } };
  if (rest === 'host') {
    const path = join(hostFolder(process.platform, env), HOST_RECORDS, RECORDS_FILE);
    return { url: 'sqlite:host', shown: 'sqlite:host', where: { kind: 'sqlite', keeper: 'host', path } };
  }
  if (/^:?memory:?$/.test(rest)) {
    throw new UsageError('--store sqlite: cannot be in memory: that is gone with this process, and would guard against nothing.');
  }
  checkPath('sqlite', rest, 'sqlite:/absolute/path.db or sqlite:relative.db');
  const path = resolve(rest);
  return { url: `sqlite:${path}`, shown: `sqlite:${path}`, where: { kind: 'sqlite', keeper: 'own', path } };
}

export function parseFile(rest: string, env: NodeJS.ProcessEnv): Address {
  if (rest === '') {
    const directory = join(stateFolder(env), LEASES);
    return { url: 'file:', shown: 'file:', where: { kind: 'file', keeper: 'user', directory, sharedWith: 'user' } };
  }
  if (rest === 'host') {
    const directory = join(hostFolder(process.platform, env), LEASES);
    return { url: 'file:host', shown: 'file:host', where: { kind: 'file', keeper: 'host', directory, sharedWith: 'everyone' } };
  }
  checkPath('file', rest, 'file:/absolute/directory');
  if (!isAbsolute(rest)) {
    throw new UsageError('--store file: needs an absolute path: two processes that start in different folders would not keep out each other.');
  }
  return { url: `file:${rest}`, shown: `file:${rest}`, where: { kind: 'file', keeper: 'own', directory: rest, sharedWith: 'user' } };
}

function checkPath(scheme: string, path: string, form: string): void {
  if (path.startsWith('//')) throw new UsageError(`--store ${scheme}:// has slashes too many: write ${form}`);
  if (path.startsWith('~')) throw new UsageError(`--store ${scheme}:~ is not put in by every shell: write ${scheme}:"$HOME"/…`);
  if (/[/\\]$/.test(path)) {
    if (scheme === 'sqlite') throw new UsageError(`--store ${scheme}: names a folder, and has to name a file: write ${form}`);
  }
  // Most likely taken from a URL of something else. As a part of the name it would be another file, and so another memory.
  if (/[?#][\w-]+=/.test(basename(path))) throw new UsageError(`--store ${scheme}: takes no parameters, only a path: write ${form}`);
}
