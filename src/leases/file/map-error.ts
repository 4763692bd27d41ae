/**
 * What the file system says, in the three words of the ports.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/** A person has to act. Everything else (a full disk, too many open files, a fault of the device) may pass. */
const FOR_A_PERSON: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EEXIST',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENODEV',
  'ENOENT',
  'ENOLCK',
  'ENOSYS',
  'ENOTDIR',
  'ENOTSUP',
  'ENXIO',
  'EOPNOTSUPP',
  'EPERM',
  'EROFS',
]);

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'The directory does not exist. Call setUp() once, or make it when you deploy',
  EACCES: 'This user may not use it: an administrator has to make it, or see the option sharedWith',
  EEXIST: 'A file stands where a directory is needed',
  EPERM: 'This user may not do that',
  ELOOP: 'It is a symbolic link, which is not followed',
  ENOLCK: 'The file system has no locks. It must be a local one',
};

/** `doubt`: a write was under way, and may have landed. */
export function toError(what: string, error: unknown, doubt = false): RerunSafeError {
  if (isRerunSafeError(error)) return error;
  const code = codeOf(error);
  if (FOR_A_PERSON.has(code)) {
    const { path } = error as NodeJS.ErrnoException;
    const hint = HINTS[code as string];
    return storeMisconfigured(`${what}: ${code}${path === undefined ? '' : ` at ${path}`}.${hint === undefined ? '' : ` ${hint}.`}`, error);
  }
  return doubt ? writeUnknown(what, error) : storeUnavailable(what, error);
}
