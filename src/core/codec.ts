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

export type Encoding = { readonly ok: true; readonly encoded: Encoded } | { readonly ok: false };

/** Encodes a value, or says that it would not come back as it is. */
export function encode(value: unknown): Encoding {
  try {
    const encoded: Encoded = JSON.parse(stringify(value, REDUCERS));
    return isDeepStrictEqual(decode(encoded), value) ? { ok: true, encoded } : { ok: false };
  } catch {
    return { ok: false };
  }
}

/** A fresh copy each time. */
export function decode(encoded: Encoded): unknown {
  return unflatten(encoded as Parameters<typeof unflatten>[0], REVIVERS);
}
