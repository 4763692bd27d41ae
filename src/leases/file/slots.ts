/**
 * How a small value is kept in a file that is never replaced: two slots, written in turn, each with a checksum. A write that a crash tears leaves
 * the slot before it whole. Pure.
 *
 * @module
 */
import { createHash } from 'node:crypto';

/** Two slots never share a page or a disk's sector: tearing one leaves the other alone. */
export const SLOT_BYTES = 8192;
/** Behind the slots: what may be torn without loss, written without waiting for the disk. */
export const ASIDE_OFFSET = 2 * SLOT_BYTES;
export const FILE_BYTES = 3 * SLOT_BYTES;

const MAGIC = 'rerunsafe-1';

export interface Entry {
  /** Counts the writes: the higher one stands. */
  readonly seq: number;
  readonly slot: 0 | 1;
  readonly body: unknown;
}

export interface Contents {
  /**
   * `unreadable`: neither slot is whole, and no crash in the middle of a single write can have left it so.
   */
  readonly kind: 'empty' | 'kept' | 'unreadable';
  readonly entry?: Entry;
  readonly aside?: unknown;
}

/** Two lines that a person can read. */
export function encode(seq: number, body: object): Buffer {
  const json = JSON.stringify(body);
  const bytes = Buffer.from(`${MAGIC} ${seq} ${Buffer.byteLength(json)} ${digest(seq, json)}\n${json}\n`);
  if (bytes.length > SLOT_BYTES) throw new RangeError(`an entry of ${bytes.length} bytes is longer than a slot`);
  return bytes;
}

export function decode(file: Buffer): Contents {
  const [first, second, aside] = [0, SLOT_BYTES, ASIDE_OFFSET].map((offset) => decodeSlot(file.subarray(offset, offset + SLOT_BYTES)));
  const beside = aside === undefined ? {} : { aside: aside.body };
  if (first !== undefined && (second === undefined || first.seq > second.seq)) return { kind: 'kept', entry: { ...first, slot: 0 }, ...beside };
  if (second !== undefined) return { kind: 'kept', entry: { ...second, slot: 1 }, ...beside };
  return { kind: isTornFirst(file) ? 'empty' : 'unreadable' };
}

/**
 * The first write of all goes to the first slot. Torn, it had been told to nobody. All else that is not whole was once, and what it said may not be forgotten.
 * Where a crash came before the bytes, but after the length, there are zeros.
 */
function isTornFirst(file: Buffer): boolean {
  if (file.length > SLOT_BYTES) return false;
  let length = file.length;
  while (length > 0 && file[length - 1] === 0) length -= 1;
  const written = file.toString('latin1', 0, length);
  const [header = '', body, ...rest] = written.split('\n');
  // A whole one ends in a second line feed: then it is its length that is wrong.
  if (body === undefined) return FIRST_HEADER.startsWith(header) || /^\d+(?: [0-9a-f]{0,32})?$/.test(afterFirst(header));
  const declared = /^(\d+) [0-9a-f]{32}$/.exec(afterFirst(header))?.[1];
  return declared !== undefined && rest.length === 0 && body.length < Number(declared);
}

const FIRST_HEADER = `${MAGIC} 1 `;
const afterFirst = (header: string): string => (header.startsWith(FIRST_HEADER) ? header.slice(FIRST_HEADER.length) : '');

/** The slot of the next write: never the one that stands. */
export const nextSlot = (standing: Entry | undefined): 0 | 1 => (standing?.slot === 0 ? 1 : 0);

function decodeSlot(bytes: Buffer): { readonly seq: number; readonly body: unknown } | undefined {
  const end = bytes.indexOf('\n');
  if (end < 0) return undefined;
  const [magic, seqText, lengthText, checksum] = bytes.toString('latin1', 0, end).split(' ');
  const [seq, length] = [Number(seqText), Number(lengthText)];
  if (magic !== MAGIC || !Number.isSafeInteger(seq) || !Number.isSafeInteger(length)) return undefined;
  const json = bytes.toString('utf8', end + 1, end + 1 + length);
  if (checksum !== digest(seq, json)) return undefined;
  return { seq, body: JSON.parse(json) };
}

const digest = (seq: number, json: string): string => createHash('sha256').update(`${seq} ${json}`).digest('hex').slice(0, 32);
