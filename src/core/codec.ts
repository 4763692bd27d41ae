/**
 * Values to plain JSON and back, exactly: undefined, -0, NaN, dates, bigints, maps, sets, bytes, nested, repeated, cyclic.
 *
 * What does not come back equal is not kept; the caller of {@link encode} decides what that means.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { stringify, unflatten } from 'devalue';
import type { Encoded } from './record.ts';

// A Buffer is a Uint8Array to the library, and would come back as one.
const REDUCERS = { Buffer: (value: unknown): string | false => Buffer.isBuffer(value) && `b${value.toString('base64')}` };
const REVIVERS = { Buffer: (value: string): Buffer => Buffer.from(value.slice(1), 'base64') };

/** What is plain JSON already lies in the store as it is, for people to read; the library's form is an array or a number. */
interface Plain {
  readonly json: unknown;
}

export type Encoding = { readonly ok: true; readonly encoded: Encoded } | { readonly ok: false };

/** Encodes a value, or says that it would not come back as it is. */
export function encode(value: unknown): Encoding {
  try {
    if (isPlain(value, new Set())) return { ok: true, encoded: { json: structuredClone(value) } satisfies Plain };
    const encoded: Encoded = JSON.parse(stringify(value, REDUCERS));
    return isDeepStrictEqual(decode(encoded), value) ? { ok: true, encoded } : { ok: false };
  } catch {
    return { ok: false };
  }
}

/** A fresh copy each time. */
export function decode(encoded: Encoded): unknown {
  if (typeof encoded === 'object' && encoded !== null && 'json' in encoded) return structuredClone((encoded as Plain).json);
  return unflatten(encoded as Parameters<typeof unflatten>[0], REVIVERS);
}

/** Comes through JSON unchanged. What is met a second time does not: it would be two things afterwards, or has no end. */
function isPlain(value: unknown, met: Set<object>): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null) return true;
  if (met.has(value)) return false;
  met.add(value);
  const names = Object.getOwnPropertyNames(value);
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  const isArray = Array.isArray(value);
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return false;
  // A hole, a name beside the places, or a property that JSON would not see.
  if (names.length !== Object.keys(value).length + (isArray ? 1 : 0) || (isArray && names.length !== value.length + 1)) return false;
  return names.every((name) => (isArray && name === 'length') || isPlain((value as Record<string, unknown>)[name], met));
}
