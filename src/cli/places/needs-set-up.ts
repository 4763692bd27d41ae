/**
 * What the stores say of setting up, in the words of the command line.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import type { Address } from './address.ts';

/** The table, file, folder or container is not there (yet), or lacks something that setting up would add. */
export const needsSetUp = (error: unknown): boolean =>
  isRerunSafeError(error, 'STORE_MISCONFIGURED') && /\bcall(?:ing)? setUp\(\) once/i.test(error.message);

/** Their messages speak to programmers. */
export const inCliWords = (message: string): string =>
  message.replaceAll('calling setUp()', 'running "rerunsafe set-up"').replaceAll('Call setUp()', 'Run "rerunsafe set-up"');

/** The command that sets up this store. One with a password is not repeated. */
export function setUpCommand({ url, shown, where }: Address): string {
  const isHost = (where.kind === 'sqlite' || where.kind === 'file') && where.keeper === 'host';
  const store = url === shown ? ` --store '${url.replaceAll("'", "'\\''")}'` : ' with the same store';
  return `${isHost ? 'sudo ' : ''}rerunsafe set-up${store}`;
}
