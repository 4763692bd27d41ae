/**
 * Where records lie: spread over partitions of the store's own, or pinned to one of the caller's, beside the rows that they are committed with.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { isInteger, type Rule } from '../../core/options.ts';
import type { RecordId } from '../../core/record.ts';

export type Place = { readonly partitions: number } | { readonly partitionKey: string };

export interface Keys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** Partitions of the store's own begin with this; rows of others in the same table are left alone. */
export const PARTITION_PREFIX = 'rs';
/** The first prefix behind all of ours, for range filters. */
export const PARTITION_END = 'rt';
/** In a partition of the caller's every row of ours begins with this. */
export const PINNED_PREFIX = 'rerunsafe.';
export const PINNED_END = 'rerunsafe/';

export const DEFAULT_PARTITIONS = 256;
export const isPartitions: Rule = isInteger(1, 65_536);

/** What the service takes as a key: up to 1 KiB of UTF-16. */
export const isPartitionKey: Rule = (value) =>
  typeof value === 'string' && value.length > 0 && value.length <= 512 && !/[/\\#?\p{Cc}\p{Surrogate}]/u.test(value)
    ? undefined
    : 'must be a string of 1 to 512 characters, without / \\ # ? and control characters';

/** Spreads keys evenly: one partition takes 2,000 rows a second, and a page of clean-up reads one partition after the other. */
export function keysOf(id: RecordId, partitions: number): Keys {
  const bucket = createHash('sha256').update(id).digest().readUInt32BE(0) % partitions;
  return { partitionKey: `${PARTITION_PREFIX}${bucket.toString(16).padStart(4, '0')}`, rowKey: id };
}

export const keysIn = (place: Place, id: RecordId): Keys =>
  'partitions' in place ? keysOf(id, place.partitions) : { partitionKey: place.partitionKey, rowKey: `${PINNED_PREFIX}${id}` };

const isPinned = (rowKey: string): boolean => rowKey.startsWith(PINNED_PREFIX);

/** The record's id, and the partition of the caller's that it is pinned to. */
export const placed = ({ partitionKey, rowKey }: Keys): { readonly id: RecordId; readonly partitionKey?: string } =>
  isPinned(rowKey) ? { id: rowKey.slice(PINNED_PREFIX.length), partitionKey } : { id: rowKey };

/** Whether a row of the caller's would be taken for one of ours. */
export const isOwnRow = (place: Place, rowKey: string): boolean => ('partitions' in place ? /^r\d+_/.test(rowKey) : isPinned(rowKey));
