/**
 * The command line that a person is to type next, ready for a POSIX shell.
 *
 * @module
 */
import type { OpenPlace } from '../places/open.ts';
import { harmless } from './harmless.ts';

/** By the id of the record: a key would be read as a template, and may hold what cannot be typed. */
export function nextCommand(verb: string, id: string, { url, shown }: Pick<OpenPlace, 'url' | 'shown'>, flags: string): string {
  // Where the URL hides a password it is left out: then it came from the environment, or is known to whoever typed it.
  const store = url === shown && harmless(url) === url ? ` --store ${quoted(url)}` : '';
  return `rerunsafe ${verb} --id ${id}${store} ${flags}`;
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
