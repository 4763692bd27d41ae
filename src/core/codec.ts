/**
 * Values to plain JSON and back, exactly: undefined, -0, NaN, dates, bigints, maps, sets, bytes, nested, repeated, cyclic.
 *
 * What does not come back equal is not kept; the caller of {@link encode} decides what that means.
 *
 * @module
 */
import { inspect, isDeepStrictEqual, types } from 'node:util';
import { stringify, unflatten } from 'devalue';
import { recordTooNew } from './errors.ts';
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
    if (isPlain(value, new Set())) return { ok: true, encoded: { json: copyOf(value) } satisfies Plain };
    if (hides(value)) return { ok: false };
    const encoded: Encoded = JSON.parse(stringify(value, REDUCERS, { operations: { viewInfo } }));
    return isDeepStrictEqual(decode(encoded), value) ? { ok: true, encoded } : { ok: false };
  } catch {
    return { ok: false };
  }
}

const isPlainForm = (encoded: Encoded): encoded is Plain => typeof encoded === 'object' && encoded !== null && 'json' in encoded;

/** A fresh copy each time. @throws RerunSafeError `RECORD_TOO_NEW` for a form that only a later version knows. */
export function decode(encoded: Encoded): unknown {
  if (isPlainForm(encoded)) return copyOf(encoded.json);
  if (!Array.isArray(encoded) && typeof encoded !== 'number') throw recordTooNew('holds a value in a form that this version does not know');
  return unflatten(encoded as Parameters<typeof unflatten>[0], REVIVERS);
}

/** Of plain JSON; four times as fast as a structured clone. */
const copyOf = (json: unknown): unknown => (typeof json === 'object' ? JSON.parse(JSON.stringify(json)) : json);

/** Comes through JSON unchanged. What is met a second time does not: it would be two things afterwards, or has no end. */
function isPlain(value: unknown, met: Set<object>): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null) return true;
  if (met.has(value)) return false;
  met.add(value);
  // It may be another thing each time it is looked at, and is not what it shows.
  if (types.isProxy(value)) throw new TypeError('a proxy cannot be kept');
  const isArray = Array.isArray(value);
  // Of bytes, the names would be millions.
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return false;
  const names = Object.getOwnPropertyNames(value);
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  // A property that JSON would not see.
  if (names.length !== Object.keys(value).length + (isArray ? 1 : 0)) return false;
  return names.every((name, n) => {
    if (isArray && n === value.length) return name === 'length';
    // A hole, or a name beside the places; counted, one of each would look like none.
    if (isArray && name !== String(n)) return false;
    const own = Object.getOwnPropertyDescriptor(value, name);
    // What is computed may be another thing each time.
    return own !== undefined && 'value' in own && isPlain(own.value, met);
  });
}

/** What was met on the way through a value. */
interface Met {
  readonly objects: Set<object>;
  /** What is shown of each buffer; of what shows all of it, the library keeps that it is one. */
  readonly shown: Map<ArrayBufferLike, Shown[]>;
  /** Of the URLs: each follows its own. */
  readonly parameters: URLSearchParams[];
}
interface Shown {
  readonly from: number;
  readonly to: number;
  readonly staysOne: boolean;
}

/** What neither the library nor the comparison sees: properties that are no plain ones, memory that can grow, and what would be two things afterwards. */
function hides(value: unknown): boolean {
  const met: Met = { objects: new Set(), shown: new Map(), parameters: [] };
  return hidesWithin(value, met) || [...met.shown.values()].some(isTornApart) || met.parameters.some((own) => met.objects.has(own));
}

function hidesWithin(value: unknown, met: Met): boolean {
  if (typeof value !== 'object' || value === null || met.objects.has(value)) return false;
  met.objects.add(value);
  if (ArrayBuffer.isView(value)) return viewHides(value, met);
  if (types.isArrayBuffer(value)) {
    if ('resizable' in value && value.resizable === true) return true;
    show(met, value, { from: 0, to: value.byteLength, staysOne: true });
  }
  if (value instanceof URL) met.parameters.push(value.searchParams);
  if (value instanceof Map && [...value].some(([key, kept]) => hidesWithin(key, met) || hidesWithin(kept, met))) return true;
  if (value instanceof Set && [...value].some((kept) => hidesWithin(kept, met))) return true;
  return Reflect.ownKeys(value).some((name) => {
    const own = Object.getOwnPropertyDescriptor(value, name);
    if (own?.enumerable !== true) return !isPartOf(value, name);
    return typeof name === 'symbol' || !('value' in own) || hidesWithin(own.value, met);
  });
}

function viewHides(view: ArrayBufferView, met: Met): boolean {
  const { buffer, byteOffset, byteLength } = view;
  // Nothing of the buffer but its bytes is kept: neither names, nor that others see the same memory.
  if (types.isSharedArrayBuffer(buffer) || ('resizable' in buffer && buffer.resizable === true) || Reflect.ownKeys(buffer).length > 0) return true;
  const staysOne = byteLength === buffer.byteLength && !Buffer.isBuffer(view);
  show(met, buffer, { from: byteOffset, to: byteOffset + byteLength, staysOne });
  return hasNames(view);
}

/** A list of what belongs to a view has each of its places: for ten million, that takes seconds. */
const LISTED_UP_TO = 256;

function hasNames(view: ArrayBufferView): boolean {
  if (!types.isTypedArray(view)) return Reflect.ownKeys(view).length > 0;
  if (view.length <= LISTED_UP_TO) return Reflect.ownKeys(view).length > view.length;
  // This one looks at what is no place, without a list of the places.
  return textOf(view) !== textOf(view.subarray());
}

const textOf = (view: ArrayBufferView): string => inspect(view, { showHidden: true, customInspect: false, depth: 0, maxArrayLength: 0 });

function show(met: Met, buffer: ArrayBufferLike, shown: Shown): void {
  const all = met.shown.get(buffer);
  if (all === undefined) met.shown.set(buffer, [shown]);
  else all.push(shown);
}

/** Two that show the same bytes, and would not afterwards. What lies side by side in a pool has nothing in common. */
function isTornApart(all: Shown[]): boolean {
  const sorted = all.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from);
  const overlap = sorted.some(({ from }, n) => n > 0 && from < (sorted[n - 1] as Shown).to);
  return overlap && !sorted.every(({ staysOne }) => staysOne);
}

/** What is never enumerable, and follows from the rest or is compared. */
const isPartOf = (value: object, name: PropertyKey): boolean =>
  name === 'length' ? Array.isArray(value) || value instanceof String : name === 'lastIndex' && value instanceof RegExp;
