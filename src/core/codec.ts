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
/** Only what a view shows: behind it may lie a pool with bytes of somebody else. */
const viewInfo = ({ buffer, byteOffset, byteLength, length }: Uint8Array) => ({
  buffer: byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength),
  byteOffset: 0,
  byteLength,
  length,
  bufferByteLength: byteLength,
});
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
    if (hides(value, new Set())) return { ok: false };
    const encoded: Encoded = JSON.parse(stringify(value, REDUCERS, { operations: { viewInfo } }));
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
  return names.every((name) => {
    if (isArray && name === 'length') return true;
    const own = Object.getOwnPropertyDescriptor(value, name);
    // What is computed may be another thing each time.
    return own !== undefined && 'value' in own && isPlain(own.value, met);
  });
}

/** What neither the library nor the comparison sees: hidden and computed properties, names that are symbols, and memory that can grow. */
function hides(value: unknown, met: Set<object>): boolean {
  if (typeof value !== 'object' || value === null || met.has(value)) return false;
  met.add(value);
  // Its places are properties too, and may be millions.
  if (ArrayBuffer.isView(value)) return hides(value.buffer, met);
  if ('resizable' in value && value instanceof ArrayBuffer && value.resizable === true) return true;
  if (value instanceof Map && [...value].some(([key, kept]) => hides(key, met) || hides(kept, met))) return true;
  if (value instanceof Set && [...value].some((kept) => hides(kept, met))) return true;
  return Reflect.ownKeys(value).some((name) => {
    const own = Object.getOwnPropertyDescriptor(value, name);
    if (own?.enumerable !== true) return !isPartOf(value, name);
    return typeof name === 'symbol' || !('value' in own) || hides(own.value, met);
  });
}

/** What is never enumerable, and follows from the rest or is compared. */
const isPartOf = (value: object, name: PropertyKey): boolean =>
  name === 'length' ? Array.isArray(value) || value instanceof String : name === 'lastIndex' && value instanceof RegExp;
