/**
 * Whether what came back is what was given, looked at more closely than any assertion does: every own property, also those that nobody lists, the
 * prototypes, the order of maps and sets, -0, and what is one object in two places.
 *
 * @module
 */
import { isDeepStrictEqual, types } from 'node:util';

/** Where the two differ first, and how; undefined: they are the same. Two distinct copies are the same, one object is not its own copy. */
export function difference(got: unknown, given: unknown): string | undefined {
  const found = compare(got, given, 'value', { there: new Map(), back: new Map() });
  return found ?? (isEqual(got, given) ? undefined : 'not deep-equal');
}

/** As Node has it; that gives up on what is nested deep. */
function isEqual(got: unknown, given: unknown): boolean {
  try {
    return isDeepStrictEqual(got, given);
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

/** What stands for what: an object that is met again has to be the same one on the other side. */
interface Met {
  readonly there: Map<object, object>;
  readonly back: Map<object, object>;
}

function compare(got: unknown, given: unknown, at: string, met: Met): string | undefined {
  if (!isObject(got) || !isObject(given)) return Object.is(got, given) ? undefined : `${at}: ${text(got)} instead of ${text(given)}`;
  if (met.there.has(got) || met.back.has(given)) {
    return met.there.get(got) === given && met.back.get(given) === got ? undefined : `${at}: another reference`;
  }
  met.there.set(got, given);
  met.back.set(given, got);
  if (got === given) return `${at}: the very object, no copy`;
  if (Object.getPrototypeOf(got) !== Object.getPrototypeOf(given)) return `${at}: another prototype`;
  if (tag(got) !== tag(given)) return `${at}: ${tag(got)} instead of ${tag(given)}`;
  return compareContents(got, given, at, met) ?? compareProperties(got, given, at, met);
}

function compareContents(got: object, given: object, at: string, met: Met): string | undefined {
  if (types.isDate(given)) return compare((got as Date).getTime(), given.getTime(), `${at} (time)`, met);
  if (types.isBoxedPrimitive(given)) return compare(Object(got).valueOf(), Object(given).valueOf(), `${at} (boxed)`, met);
  if (types.isRegExp(given)) return compare(String(got), String(given), at, met);
  if (given instanceof URL || given instanceof URLSearchParams) return compare(String(got), String(given), at, met);
  if (types.isMap(given)) return compareList([...(got as Map<unknown, unknown>)].flat(1), [...given].flat(1), `${at} (entries)`, met);
  if (types.isSet(given)) return compareList([...(got as Set<unknown>)], [...given], `${at} (members)`, met);
  if (types.isAnyArrayBuffer(given)) return compareList(traits(got as ArrayBuffer), traits(given), `${at} (bytes)`, met);
  if (ArrayBuffer.isView(given)) return compare(hex(got as ArrayBufferView), hex(given), `${at} (bytes)`, met);
  return undefined;
}

function compareList(got: readonly unknown[], given: readonly unknown[], at: string, met: Met): string | undefined {
  if (got.length !== given.length) return `${at}: ${got.length} instead of ${given.length}`;
  for (const [n, value] of given.entries()) {
    const found = compare(got[n], value, `${at}[${n}]`, met);
    if (found !== undefined) return found;
  }
  return undefined;
}

function compareProperties(got: object, given: object, at: string, met: Met): string | undefined {
  // Of bytes they are the bytes, and what else there is.
  const isPlace = (name: PropertyKey, of: object): boolean => ArrayBuffer.isView(of) && typeof name === 'string' && /^\d+$/.test(name);
  const namesOf = (of: object): PropertyKey[] => Reflect.ownKeys(of).filter((name) => !isPlace(name, of));
  const names = namesOf(given);
  if (!isDeepStrictEqual(new Set(namesOf(got)), new Set(names))) return `${at}: other properties`;
  for (const name of names) {
    const own = Object.getOwnPropertyDescriptor(given, name);
    const theirs = Object.getOwnPropertyDescriptor(got, name);
    const found = compare(theirs?.value, own?.value, `${at}.${String(name)}`, met);
    if (found !== undefined) return found;
    if (theirs?.enumerable !== own?.enumerable || theirs?.get !== own?.get) return `${at}.${String(name)}: another kind of property`;
  }
  return undefined;
}

const isObject = (value: unknown): value is object => (typeof value === 'object' && value !== null) || typeof value === 'function';
const tag = (value: object): string => Object.prototype.toString.call(value);
const text = (value: unknown): string => (isObject(value) ? tag(value) : Object.is(value, -0) ? '-0' : String(value).slice(0, 60));
const hex = (view: ArrayBufferView): string => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('hex');
const traits = (buffer: ArrayBufferLike): unknown[] => [Buffer.from(buffer).toString('hex'), 'resizable' in buffer && buffer.resizable];
