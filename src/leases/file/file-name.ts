/**
 * Where the lease of a name lies.
 *
 * @module
 */
import { createHash } from 'node:crypto';

const MAX_READABLE = 40;

/**
 * The hash alone decides, in lower case: file systems fold case, forms of `ä`, trailing dots and spaces, and know `..`. In front of it, for people, what
 * is plain of the name.
 *
 * @example fileNameOf('Nightly report') // 'nightly-report-' + 64 hex digits + '.lease'
 */
export function fileNameOf(name: string): string {
  const readable = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_READABLE)
    .replace(/^-+|-+$/g, '');
  // UTF-16, not UTF-8: that would fold all lone surrogates into one character, and two names into one lease.
  const hash = createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('hex');
  return `${readable === '' ? '' : `${readable}-`}${hash}.lease`;
}
