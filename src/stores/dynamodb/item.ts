/**
 * How a record lies in an item: one attribute for each column, and the attribute the service's own clean-up looks at.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { canExpire, fromRow, type RecordId, type StoredRecord, toRow } from '../../core/record.ts';

export type Item = Record<string, AttributeValue>;

export interface Layout {
  readonly partitionKey: string;
  /** Epoch seconds, as the service wants them; undefined: not written. */
  readonly ttlAttribute: string | undefined;
}

/** 400 KB is the service's limit for names and values together; the rest is for what it counts and we do not. */
export const MAX_ITEM_BYTES = 390 * 1024;

/** The service removes an item no earlier than this after it expired by the protocol's own rule: a late copy of a request must find its row. */
export const TTL_MARGIN_MS = 2 * 3_600_000;
/** A number takes up to 38 digits, two in a byte, plus its sign and exponent. */
const NUMBER_BYTES = 21;

export function toItem(id: RecordId, record: StoredRecord, layout: Layout): Item {
  const item: Item = { [layout.partitionKey]: { S: id } };
  for (const [column, value] of Object.entries(toRow(record))) {
    // No scope is no attribute: older emulators refuse an empty string.
    if (value === undefined || (column === 'scope' && value === '')) continue;
    item[column] = typeof value === 'number' ? { N: String(value) } : { S: value };
  }
  if (layout.ttlAttribute !== undefined && canExpire(record)) {
    item[layout.ttlAttribute] = { N: String(Math.ceil((record.writtenAtMs + record.retentionMs + TTL_MARGIN_MS) / 1000)) };
  }
  return item;
}

/** @throws RerunSafeError as {@link fromRow} does. */
export function fromItem(item: Item): StoredRecord {
  const row: Record<string, unknown> = { scope: '' };
  for (const [name, { S, N }] of Object.entries(item)) {
    if (S !== undefined) row[name] = S;
    else if (N !== undefined) row[name] = Number(N);
  }
  return fromRow(row);
}

/** As the service counts: the UTF-8 of names and values. */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, { S }] of Object.entries(item)) bytes += Buffer.byteLength(name) + (S === undefined ? NUMBER_BYTES : Buffer.byteLength(S));
  return bytes;
}
