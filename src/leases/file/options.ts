/**
 * The options of `fileLeases`, and what is checked of each request.
 *
 * @module
 */
import { isAbsolute, posix, win32 } from 'node:path';
import { checkOptions, invalidOptions, isInteger, isOneOf, type Rule } from '../../core/options.ts';

export type SharedWith = 'user' | 'group' | 'everyone';

export interface FileLeasesOptions {
  /**
   * Where the lock files lie: an absolute path on a local file system, the same for all who are to keep out each other. `'host'`: one place for all
   * users of this host, which outlives a restart (`/var/lib/rerunsafe/leases`; macOS `/Library/Application Support/rerunsafe/leases`; Windows
   * `%ProgramData%\rerunsafe\leases`); an administrator has to call `setUp()` once.
   */
  readonly directory: 'host' | (string & {});
  /**
   * Whose processes take part, and so may also hold up the others. `user` (directory 0700, files 0600), `group` (2770, 0660), `everyone` (1777, 0666).
   * Default: `everyone` for `'host'`, else `user`. No effect on Windows, where the access list of the directory decides.
   */
  readonly sharedWith?: SharedWith;
}

export function checkFileLeasesOptions(options: unknown): asserts options is FileLeasesOptions {
  const isPlace: Rule = (value) =>
    value === 'host' || (typeof value === 'string' && isAbsolute(value) && !value.includes('\0'))
      ? undefined
      : "must be 'host' or an absolute path: two processes that start in different folders would not keep out each other";
  checkOptions('fileLeases', options, { directory: isPlace, sharedWith: isOneOf('user', 'group', 'everyone') }, ['directory']);
}

/** State, not run-time files: those are gone after a restart, and with them which slots are done. */
export function hostDirectory(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): string {
  if (platform === 'win32') return win32.join(env.ProgramData ?? 'C:\\ProgramData', 'rerunsafe', 'leases');
  return posix.join(platform === 'darwin' ? '/Library/Application Support' : '/var/lib', 'rerunsafe', 'leases');
}

export const MIN_LEASE_MS = 100;
export const MAX_LEASE_MS = 2_147_483_647;

const isText =
  (max: number): Rule =>
  (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= max ? undefined : `must be a string of 1 to ${max} characters`;

const isDuration =
  (minMs: number, maxMs: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= minMs && value <= maxMs ? undefined : `must be from ${minMs} to ${maxMs} ms`;

/** Together short enough for a slot, whatever the characters. */
const REQUEST: Readonly<Record<string, Rule>> = {
  name: isText(512),
  owner: isText(256),
  token: isInteger(0),
  leaseMs: isDuration(MIN_LEASE_MS, MAX_LEASE_MS),
  label: (value) => (typeof value === 'string' ? undefined : 'must be a string'),
  slot: isInteger(0),
  slotDone: isInteger(0),
  holdMs: isDuration(0, Math.floor(Number.MAX_SAFE_INTEGER / 2)),
};

const OPTIONAL: ReadonlySet<string> = new Set(['label', 'slot', 'slotDone', 'holdMs']);

/** @throws RerunSafeError `INVALID_OPTIONS`. A length that is missing would be a lease that never ends, or has ended at once. */
export function checkRequest(given: Readonly<Record<string, unknown>>): void {
  const problems = Object.entries(given).flatMap(([field, value]) => {
    const wrong = value === undefined && OPTIONAL.has(field) ? undefined : REQUEST[field]?.(value);
    return wrong === undefined ? [] : [`${field} ${wrong}`];
  });
  if (problems.length > 0) throw invalidOptions('a file lease', problems);
}
