/**
 * Whether there is such a command: asked before anything is claimed, since what never ran must leave no trace.
 *
 * @module
 */
import { open, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import which from 'which';
import { EXIT } from '../exit-codes.ts';

export interface NoCommand {
  readonly exitCode: 126 | 127;
  readonly message: string;
}

/** What the system takes where there is no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';
const WINDOWS = process.platform === 'win32';

/**
 * Looks where the system will look, and asks what it will ask: the file, the right to execute it, the interpreter it names. A few `stat`s; asked again it
 * costs the same again, about a millisecond.
 */
export async function findCommand(command: string): Promise<{ readonly path: string } | NoCommand> {
  const searched = process.env.PATH ?? DEFAULT_PATH;
  const path = command === '' ? null : await which(command, { nothrow: true, ...(WINDOWS ? {} : { path: searched }) });
  if (path === null) {
    const there = command === '' ? undefined : await whatIsThere(command, searched);
    if (there !== undefined) return { exitCode: EXIT.notExecutable, message: there };
    const where = command.includes('/') ? '' : ' in PATH. A built-in of the shell, an alias or a pipe needs the shell: sh -c "..."';
    return { exitCode: EXIT.notFound, message: `there is no command ${JSON.stringify(command)}${where}` };
  }
  const interpreter = WINDOWS ? undefined : await interpreterOf(path);
  if (interpreter !== undefined && (await whatIs(interpreter)) !== 'file') {
    return { exitCode: EXIT.notExecutable, message: `${path} names an interpreter that is not there: ${JSON.stringify(interpreter)}` };
  }
  return { path };
}

async function whatIsThere(command: string, searched: string): Promise<string | undefined> {
  const places = command.includes('/') ? [command] : searched.split(delimiter).map((folder) => join(folder, command));
  for (const place of places) {
    const what = await whatIs(place);
    if (what === 'file') return `${place} is not executable`;
    if (what === 'other' && command.includes('/')) return `${place} is not a file that can be executed`;
  }
  return undefined;
}

async function whatIs(path: string): Promise<'file' | 'other' | undefined> {
  try {
    return (await stat(path)).isFile() ? 'file' : 'other';
  } catch {
    return undefined;
  }
}

/** A script with a missing interpreter looks executable and is not; with `\r` at the end of its first line it is the usual case. */
async function interpreterOf(path: string): Promise<string | undefined> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
      return /^#![ \t]*([^ \t\n]+)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
    } finally {
      await file.close();
    }
  } catch {
    // May be executed and not read: the system will say.
    return undefined;
  }
}
