/**
 * The fingerprint of an input: equal inputs give equal strings, whatever the order of their properties.
 *
 * JSON in canonical form (RFC 8785) with marks for what JSON cannot say. The version stands in front: a later rule must not turn every
 * retry into "same key, other input".
 *
 * @module
 */
import canonicalize from 'canonicalize';
import { hashParts } from './key.ts';
import { invalidOptions } from './options.ts';

const MAX_DEPTH = 200;

/** @throws RerunSafeError `INVALID_OPTIONS` for functions, symbols, cycles and nesting deeper than 200. */
export const fingerprintOf = (input: unknown): string => `v1:${hashParts(canonicalize(plain(input, 0)) ?? 'undefined')}`;

/** A fingerprint that the caller made; never compared with one of ours. */
export const ownFingerprint = (given: string): string => `own:${hashParts(given)}`;

/** Both present, of the same version, and different. */
export function fingerprintsDiffer(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return false;
  return a.slice(0, a.indexOf(':')) === b.slice(0, b.indexOf(':'));
}

function plain(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw invalidOptions('input', ['it is cyclic, or nested deeper than 200']);
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return typeof value === 'string' && /\p{Surrogate}/u.test(value) ? mark('utf16', escape16(value)) : value;
    case 'number':
      return Number.isFinite(value) ? value : mark('number', String(value));
    case 'bigint':
      return mark('bigint', value.toString());
    case 'object':
      return value === null ? null : plainObject(value, depth + 1);
    default:
      throw invalidOptions('input', [`a ${typeof value} has no fingerprint`]);
  }
}

function plainObject(value: object, depth: number): unknown {
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? mark('undefined', '') : plain(item, depth)));
  if (value instanceof Date) return mark('date', value.getTime().toString());
  if (value instanceof Map)
    return mark(
      'map',
      [...value].map(([k, v]) => [plain(k, depth) ?? null, plain(v, depth) ?? null]),
    );
  if (value instanceof Set)
    return mark(
      'set',
      [...value].map((item) => plain(item, depth) ?? null),
    );
  if (value instanceof ArrayBuffer) return mark('bytes', Buffer.from(value).toString('base64'));
  if (ArrayBuffer.isView(value)) return mark('bytes', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'));
  if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON(), depth);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [name.startsWith('$') ? `$${name}` : name, plain(item, depth)]),
  );
}

/** Real property names never begin with a single `$` here, so a mark cannot be forged. */
const mark = (type: string, value: unknown): Record<string, unknown> => ({ [`$${type}`]: value });
const escape16 = (text: string): string => [...text].map((c) => c.codePointAt(0)?.toString(16)).join(' ');
