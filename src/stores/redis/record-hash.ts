/**
 * How a record lies in a hash: a field for each column, all of them text.
 *
 * @module
 */

import { PURGE_MIN_AGE_MS } from '../../core/ports.ts';
import { COLUMNS, canExpire, fromRow, type RecordToWrite, type StoredRecord, toRow } from '../../core/record.ts';

type Column = keyof typeof COLUMNS;

/** All but the body, which may be megabytes. */
export const LIGHT_COLUMNS = (Object.keys(COLUMNS) as Column[]).filter((name) => name !== 'body');

/** Names and values in turn, but for what the server adds. Whole numbers only: a lease is rounded up, so that it never ends before its owner thinks. */
export function toFields(record: RecordToWrite): string[] {
  const { token: _, writtenAtMs: __, ...columns } = toRow({ ...record, writtenAtMs: 0 });
  return Object.entries(columns).flatMap(([name, value]) =>
    value === undefined ? [] : [name, typeof value === 'number' ? String(Math.ceil(value)) : value],
  );
}

/** Of {@link toFields}, and of what the server adds. */
export const bytesOf = (fields: readonly string[]): number => fields.reduce((bytes, text) => bytes + Buffer.byteLength(text), 64);

/**
 * When the server may remove it by itself, ms after the write: what is as good as absent, with the hour that a late copy of an old request needs to find
 * its row. Never what is running or blocked, nor the row of a lease.
 */
export const endsAfterMs = (record: RecordToWrite, uncertaintyMs: number): number | undefined =>
  canExpire(record) ? Math.ceil(record.retentionMs + uncertaintyMs + PURGE_MIN_AGE_MS) : undefined;

/** undefined: nothing stands there. @throws RerunSafeError as {@link fromRow} does. */
export function fromFields(flat: readonly unknown[]): StoredRecord | undefined {
  const values = new Map<string, unknown>();
  for (let at = 0; at + 1 < flat.length; at += 2) values.set(String(flat[at]), flat[at + 1]);
  return flat.length === 0 ? undefined : fromValues(values);
}

/** The values of {@link LIGHT_COLUMNS}, of a hash that exists. */
export const fromLight = (values: readonly unknown[]): StoredRecord => fromValues(new Map(LIGHT_COLUMNS.map((name, at) => [name, values[at]])));

function fromValues(values: ReadonlyMap<string, unknown>): StoredRecord {
  const row: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(COLUMNS)) {
    const value = values.get(name);
    if (value === undefined || value === null) continue;
    // What is no number stays what it is, and is refused.
    row[name] = type === 'number' && /^\d+$/.test(String(value)) ? Number(value) : value;
  }
  return fromRow(row);
}
