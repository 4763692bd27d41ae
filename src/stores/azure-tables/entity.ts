/**
 * How a record lies in a table entity, and how large the service will say it is.
 *
 * @module
 */
import { storeMisconfigured } from '../../core/errors.ts';
import type { RecordToWrite, StoredRecord } from '../../core/record.ts';
import { COLUMNS, fromRow, toRow } from '../../core/record.ts';
import type { Keys } from './place.ts';

/** The service's limit for one binary property is documented as 64 KiB; users report that it refuses 65,536 bytes and takes 64,000. */
const CHUNK_BYTES = 64_000;
/** The same limit for a string, whose characters count twice. */
const MAX_STRING_LENGTH = 32_000;
/** Beyond this a plain JSON number becomes a Double, which an operator's integer filter does not find. */
const INT32_COLUMNS: ReadonlySet<string> = new Set(['schema', 'attempt']);

export type Property = string | boolean | Uint8Array | { readonly type: 'Int32' | 'Int64' | 'Double'; readonly value: string };
export type Properties = Record<string, Property>;
export type RecordEntity = Keys & Properties;

/** `writtenAtMs` is no column here: the service stamps `Timestamp` itself. */
export function toEntity(keys: Keys, record: RecordToWrite): RecordEntity {
  const { writtenAtMs: _, body, ...columns } = toRow({ ...record, writtenAtMs: 0 });
  const entity: Properties = {};
  for (const [name, value] of Object.entries(columns)) {
    if (value !== undefined) entity[name] = typeof value === 'number' ? toNumber(value, INT32_COLUMNS.has(name)) : value;
  }
  return { ...entity, ...(body === undefined ? {} : toChunks(Buffer.from(body, 'utf8'), 'body')), ...keys };
}

function toNumber(value: number, int32: boolean): Property {
  if (!Number.isSafeInteger(value)) return { type: 'Double', value: String(value) };
  return { type: int32 ? 'Int32' : 'Int64', value: String(value) };
}

/**
 * Binary and not text: the service counts two bytes for every character of a string. A Buffer and not another Uint8Array: of a part of those the
 * SDK sends the whole memory behind it.
 */
export function toChunks(given: Uint8Array, name: string): Properties {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const chunks: Properties = {};
  for (let n = 0; n * CHUNK_BYTES < bytes.length; n++) chunks[`${name}${n}`] = bytes.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES);
  return chunks;
}

/**
 * Reads an entity back.
 *
 * @throws RerunSafeError `RECORD_TOO_NEW`, or `STORE_MISCONFIGURED` for a row that is not a record.
 */
export function fromEntity(entity: Readonly<Record<string, unknown>>): StoredRecord {
  const row: Record<string, unknown> = { writtenAtMs: timestampMs(entity) };
  for (const name of Object.keys(COLUMNS)) {
    if (name === 'writtenAtMs' || name === 'body') continue;
    const value = entity[name];
    row[name] = typeof value === 'bigint' ? Number(value) : value;
  }
  const body = fromChunks(entity, 'body');
  if (body !== undefined) row.body = body.toString('utf8');
  return fromRow(row);
}

export function fromChunks(entity: Readonly<Record<string, unknown>>, name: string): Buffer | undefined {
  const chunks: Uint8Array[] = [];
  for (let chunk = entity[`${name}0`]; chunk instanceof Uint8Array; chunk = entity[`${name}${chunks.length}`]) chunks.push(chunk);
  return chunks.length === 0 ? undefined : Buffer.concat(chunks);
}

/** When the service wrote the row, epoch ms. */
export function timestampMs(entity: Readonly<Record<string, unknown>>): number {
  const stamp = entity.timestamp;
  const ms = stamp instanceof Date ? stamp.getTime() : Date.parse(String(stamp));
  if (Number.isNaN(ms)) throw storeMisconfigured('a row has no Timestamp.');
  return ms;
}

/** The version of a row. Two states of one row never share an ETag, not even after it was deleted and made again. */
export function etagOf(holder: Readonly<Record<string, unknown>>): string {
  if (typeof holder.etag !== 'string' || holder.etag === '') throw storeMisconfigured('the service answered without an ETag.');
  return holder.etag;
}

/**
 * The size by the service's own rule: 4 + keys × 2, and for each property 8 + its name × 2 + its value.
 * See "Understanding the Table service data model", and the capacity rule published with it.
 */
export function entityBytes(entity: RecordEntity): number {
  let bytes = 4;
  for (const [name, value] of Object.entries(entity)) {
    if (name === 'partitionKey' || name === 'rowKey') bytes += String(value).length * 2;
    else bytes += 8 + name.length * 2 + valueBytes(value);
  }
  return bytes;
}

function valueBytes(value: Property): number {
  if (typeof value === 'string') return value.length * 2 + 4;
  if (typeof value === 'boolean') return 1;
  if (value instanceof Uint8Array) return value.length + 4;
  return value.type === 'Int32' ? 4 : 8;
}

/** Known before it is sent, so that no megabyte travels for nothing. */
export const isTooLarge = (entity: RecordEntity, maxBytes: number): boolean =>
  entityBytes(entity) > maxBytes || Object.values(entity).some((value) => typeof value === 'string' && value.length > MAX_STRING_LENGTH);
