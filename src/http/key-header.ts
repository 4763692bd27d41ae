/**
 * The value of an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07, section 2.1; RFC 9651, section 3.3.3).
 *
 * The draft wants a quoted string; real clients send bare UUIDs. Both forms of a value are the same key: whoever starts quoting must not pay twice.
 *
 * @module
 */
import { parseItem } from 'structured-headers';

export type ParsedKey = { readonly kind: 'key'; readonly key: string } | { readonly kind: 'none' } | { readonly kind: 'malformed' };

const MOST_BYTES = 255;
/** Visible ASCII without `"`, `,`, `;` and `\`: a comma is what joins two header lines, and two keys are none. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

export function parseKeyHeader(value: string | undefined, strict = false): ParsedKey {
  if (value === undefined) return { kind: 'none' };
  // An empty one is no missing one: whoever sends it believes to be guarded.
  const text = value.replace(/^[ \t]+|[ \t]+$/g, '');
  const key = text.startsWith('"') ? quoted(text) : !strict && BARE.test(text) ? text : undefined;
  return key === undefined || key === '' || key.length > MOST_BYTES ? { kind: 'malformed' } : { kind: 'key', key };
}

function quoted(text: string): string | undefined {
  try {
    // Parameters are ignored, as the draft defines none.
    const [value] = parseItem(text);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
