/**
 * Where the lease of a name lies.
 *
 * @module
 */
import { createHash } from 'node:crypto';

/** The longest readable form; beyond it a hash stands in. With the prefix it stays far below the service's 1,024 characters. */
const MAX_READABLE = 256;

/**
 * The blob of a lease name: letters, digits, `_` and `-` stand for themselves, every other UTF-16 unit is `~` and four hex digits.
 * Two names never share a blob: the code is injective, and a hashed name begins with `~sha256~`, which no code does (`s` is not a hex digit).
 * Slashes and dots are coded too, because services and proxies treat `..`, `//` and trailing dots in their own ways.
 *
 * @example blobNameOf('locks/', 'nightly report') // 'locks/nightly~0020report'
 */
export function blobNameOf(prefix: string, name: string): string {
  const readable = name.replace(/[^A-Za-z0-9_-]/g, (unit) => `~${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  if (readable.length <= MAX_READABLE) return prefix + readable;
  // UTF-16, not UTF-8: that would fold all lone surrogates into one character, and two names into one lease.
  return `${prefix}~sha256~${createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('hex')}`;
}
