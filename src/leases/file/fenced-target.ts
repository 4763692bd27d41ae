/**
 * Which file a fenced write is about, whichever way leads to it.
 *
 * @module
 */
import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { storeMisconfigured } from '../../core/errors.ts';
import { codeOf } from './map-error.ts';

/** As many as Linux follows. */
const MOST_LINKS = 40;

/**
 * Two ways to one file must lead to one fence, also while the file is not there: a link to what was deleted, or is not written yet, still names it.
 *
 * @throws RerunSafeError `STORE_MISCONFIGURED`: links in a circle; a directory, a pipe or a device, whose opening could wait for ever.
 */
export async function targetOf(path: string): Promise<string> {
  let way = path;
  for (let links = 0; links <= MOST_LINKS; links += 1) {
    const name = join(await realpath(dirname(way)), basename(way));
    const there = await lstat(name).catch(ifAbsent);
    if (there === undefined) return name;
    if (there.isFile()) return (await realpath(name).catch(ifAbsent)) ?? name;
    if (!there.isSymbolicLink()) throw storeMisconfigured(`${name} is no regular file. It was not touched.`);
    const next = await readlink(name).catch(ifAbsent);
    // Put together as it is: `..` behind a link is not what it looks like.
    if (next !== undefined) way = isAbsolute(next) ? next : `${dirname(name)}/${next}`;
  }
  throw storeMisconfigured(`${path} leads from one symbolic link to the next, in a circle or more than ${MOST_LINKS} times. Nothing was touched.`);
}

export function ifAbsent(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT') return undefined;
  throw error;
}
