/**
 * Files by their content.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { createReadStream, readdir } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute, resolve, sep } from 'node:path';
import { UsageError } from './usage-error.ts';

/** SHA-256 as hex, by path: as the glob has it, relative or absolute, with `/`; sorted. */
export type HashedFiles = Readonly<Record<string, string>>;

/** Open at a time: folders with thousands of files are met. */
const AT_ONCE = 16;

/**
 * Paths are relative to `cwd`, so that another checkout of the same files is the same input. Symbolic links count as what they lead to; folders alone
 * are nothing; names with a leading dot are matched only where the glob has the dot; `\` takes a character as it is.
 *
 * @throws UsageError
 */
export async function hashFiles(globs: readonly string[], cwd: string): Promise<HashedFiles> {
  const isTakenAway = (glob: string) => glob.startsWith('!') && glob[1] !== '(';
  const ignore = globs.filter(isTakenAway).map((glob) => glob.slice(1));
  const wanted = globs.filter((glob) => !isTakenAway(glob));
  if (wanted.length === 0) throw new UsageError('--fp-file: there are only globs that take away; give one that matches files, too');
  const paths = new Set<string>();
  // One by one: a misspelt glob beside a good one would pass unseen.
  for (const glob of wanted) for (const path of await matches(glob, ignore, cwd)) paths.add(path);
  const sorted = [...paths].sort();
  const hashed: [path: string, hash: string][] = [];
  for (let at = 0; at < sorted.length; at += AT_ONCE)
    hashed.push(...(await Promise.all(sorted.slice(at, at + AT_ONCE).map(async (path) => [path, await hashOf(path, cwd)] as [string, string]))));
  return Object.fromEntries(hashed);
}

async function matches(glob: string, ignore: readonly string[], cwd: string): Promise<readonly string[]> {
  if (glob === '') throw new UsageError('--fp-file: the glob is empty');
  const { glob: find } = await import('tinyglobby');
  const unread: NodeJS.ErrnoException[] = [];
  const found = await find([glob], { cwd, ignore, expandDirectories: false, fs: { readdir: keepingErrors(unread) } });
  // Else a folder that may not be looked into would count as an empty one.
  const [first] = unread;
  if (first !== undefined) throw new UsageError(`--fp-file "${glob}": ${first.path ?? 'a folder'} cannot be read: ${first.code ?? first.message}`);
  if (found.length === 0)
    throw new UsageError(
      `--fp-file "${glob}" matches no file in ${cwd}. For all in a folder say ${glob.replace(/\/*$/, '')}/**; put a \\ before * ? [ ] { } ( ) that are part of a name`,
    );
  return isAbsolute(glob) ? found.map((path) => resolve(cwd, path).replaceAll(sep, '/')) : found;
}

/** The library goes on where a folder cannot be read. One that is not there, or is none, has no files. */
function keepingErrors(errors: NodeJS.ErrnoException[]): typeof readdir {
  const keeping = (path: string, options: { withFileTypes: true }, done: (error: NodeJS.ErrnoException | null, entries?: unknown) => void) =>
    readdir(path, options, (error, entries) => {
      if (error !== null && error.code !== 'ENOENT' && error.code !== 'ENOTDIR') errors.push(error);
      done(error, entries);
    });
  return keeping as unknown as typeof readdir;
}

async function hashOf(path: string, cwd: string): Promise<string> {
  const full = resolve(cwd, path);
  try {
    // A pipe would be waited for without end.
    if (!(await stat(full)).isFile()) throw new UsageError(`--fp-file: ${path} is no regular file`);
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(full)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(`--fp-file: ${path} cannot be read: ${code ?? message}`);
  }
}
