/**
 * Where files are kept that nobody has named a place for.
 *
 * @module
 */
import { isAbsolute, join, posix, win32 } from 'node:path';
import envPaths from 'env-paths';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';

/** State, not cache and not run-time files: a person who empties those does not expect that work is done a second time. */
export function stateFolder(env: NodeJS.ProcessEnv): string {
  const { XDG_STATE_HOME: given } = env;
  if (given !== undefined && given !== '') return join(absolute('XDG_STATE_HOME', given), 'rerunsafe');
  const { log, data } = envPaths('rerunsafe', { suffix: '' });
  // The library has no name for state: where there are none of its own, it keeps it under this one.
  const folder = process.platform === 'darwin' || process.platform === 'win32' ? data : log;
  if (isAbsolute(folder)) return folder;
  throw new UsageError('HOME is not an absolute path: name a store with --store, or set XDG_STATE_HOME.', EXIT.config);
}

/** Of all users. `RERUNSAFE_HOST_DIR` says another. */
export function hostFolder(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): string {
  const { RERUNSAFE_HOST_DIR: given, ProgramData = 'C:\\ProgramData' } = env;
  if (given !== undefined && given !== '') return absolute('RERUNSAFE_HOST_DIR', given);
  if (platform === 'win32') return win32.join(ProgramData, 'rerunsafe');
  return posix.join(platform === 'darwin' ? '/Library/Application Support' : '/var/lib', 'rerunsafe');
}

/** Another folder for each working directory would be another memory for each. */
function absolute(variable: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw new UsageError(`${variable} must be an absolute path.`, EXIT.config);
}
