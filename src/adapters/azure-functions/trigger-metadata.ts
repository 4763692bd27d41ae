/**
 * Reads `context.triggerMetadata` without mistaking one message for another.
 *
 * Three things happen to it on the way: the host leaves empty texts out of the arrays of a batch (the rest moves up), it puts top-level properties of
 * a JSON body in the place of its own entries of that name, and the worker reads every text as JSON (`1e3` and `1000` both become 1000, long digits
 * are rounded). Each of them would give two messages one key; what cannot be told apart is refused.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import { RerunSafeError } from '../../core/errors.ts';

/** Where a builder stands: what it is called with, and its name for the refusal. */
export interface Place {
  readonly what: string;
  readonly input: unknown;
  readonly context: InvocationContext;
  readonly index: number;
}

export const refuse = (what: string, why: string): RerunSafeError => new RerunSafeError('MISSING_KEY', `${what}: ${why}. Nothing was run.`);

const batchSizes = new WeakMap<InvocationContext, number>();

/** The size of the batch, known where the whole of it was seen: what the length of every array is held against. */
export const noteBatch = (context: InvocationContext, size: number): void => {
  batchSizes.set(context, size);
};

/** One entry of the metadata: that of the item at `index` in a batch. The names are camel-cased, as the library hands them out. */
export function entryOf({ what, input, context, index }: Place, name: string): unknown {
  const { triggerMetadata: metadata } = context;
  if (metadata === undefined || metadata === null) throw refuse(what, 'this trigger has no metadata');
  if (!isBatch(context)) {
    refuseShadowed(what, input, name);
    return metadata[name];
  }
  const size = batchSizes.get(context);
  if (size === undefined && Array.isArray(input)) {
    throw refuse(
      what,
      "the function gets a batch, and a key for all of it would be that of its first message: use idempotentEach, or cardinality 'one'",
    );
  }
  const entries = metadata[`${name}Array`];
  if (!Array.isArray(entries)) throw refuse(what, `${name}Array is missing`);
  if (entries.length !== (size ?? longest(metadata))) {
    throw refuse(what, `${name}Array has ${entries.length} entries for ${size ?? longest(metadata)} messages (the host leaves out what is empty)`);
  }
  return entries[index];
}

/** The part of the metadata that is one for the whole batch. */
export function sharedEntry({ what, input, context }: Place, name: string): unknown {
  if (!isBatch(context)) refuseShadowed(what, input, name);
  return context.triggerMetadata?.[name];
}

export const isBatch = (context: InvocationContext): boolean =>
  batchSizes.has(context) || String((context.options.trigger as { cardinality?: unknown }).cardinality).toLowerCase() === 'many';

const longest = (metadata: Readonly<Record<string, unknown>>): number =>
  Math.max(0, ...Object.entries(metadata).map(([name, value]) => (name.endsWith('Array') && Array.isArray(value) ? value.length : 0)));

/** The host takes null and arrays of a body for nothing; an array would be refused where it is read. */
function refuseShadowed(what: string, input: unknown, name: string): void {
  for (const [property, value] of Object.entries(bodyOf(what, input))) {
    if (property.toLowerCase() === name.toLowerCase() && value !== null && !Array.isArray(value)) {
      throw refuse(what, `the body has a property ${property}, which the host puts in the place of the trigger's own: take a key from the body`);
    }
  }
}

/** The body as the host saw it, if that is an object. Its parser takes more for JSON than ours: what only looks like an object may have been one. */
function bodyOf(what: string, input: unknown): object {
  if (typeof input === 'object' && input !== null && !Array.isArray(input) && !(input instanceof Uint8Array)) return input;
  const text = input instanceof Uint8Array ? decoded(input) : input;
  // U+0085 is a blank to the host; U+0000 is what UTF-32 leaves of its other halves.
  if (typeof text !== 'string' || !/^[\s\u0085\0]*\{/.test(text)) return {};
  try {
    return JSON.parse(text) as object;
  } catch {
    throw refuse(what, "the body begins like a JSON object and is none: its properties may stand in the place of the trigger's own");
  }
}

/** As the host reads a blob: by its byte order mark, which is no part of the text. */
function decoded(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/** A text that somebody chose. Anything else is what is left of one: different texts come out the same. */
export function textFrom(what: string, name: string, value: unknown): string {
  if (value === undefined || value === null || value === '') throw refuse(what, `${name} is missing`);
  if (typeof value === 'string') return value;
  throw refuse(
    what,
    `${name} is not a text (${kindOf(value)}): the worker reads texts as JSON, where '1000' and '1e3' are the same. Choose ids that are no JSON, or another key`,
  );
}

/** A whole number that the service counts: exact in each of its forms (number, bigint, digits, the worker's 64-bit object), or refused. */
export function wholeFrom(what: string, name: string, value: unknown): string {
  if (value === undefined || value === null || value === '') throw refuse(what, `${name} is missing`);
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw refuse(what, `${name} is beyond 2^53 and was rounded on its way (${value}): others look the same. Choose another key`);
  }
  const digits = isLong(value) ? ((BigInt(value.high) << 32n) | BigInt(value.low >>> 0)).toString() : String(value);
  if (['number', 'bigint', 'string'].includes(typeof value) || isLong(value)) {
    if (/^(?:0|[1-9]\d*)$/.test(digits)) return digits;
  }
  throw refuse(what, `${name} is not a whole number (${kindOf(value)})`);
}

/** Epoch ms. Without a zone it is UTC: that is how the host writes times it knows to be. */
export function timeFrom(what: string, name: string, value: unknown): number {
  const text = textFrom(what, name, value);
  const timeMs = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  if (Number.isNaN(timeMs)) throw refuse(what, `${name} is not a time`);
  return timeMs;
}

interface Long {
  readonly low: number;
  readonly high: number;
}

const isLong = (value: unknown): value is Long =>
  typeof value === 'object' && value !== null && Number.isInteger((value as Long).low) && Number.isInteger((value as Long).high);

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'an array' : value instanceof Uint8Array ? 'bytes' : `of type ${typeof value}`);
