/**
 * How large services say that a row is.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** Developer guide, "Item sizes and formats": UTF-8 of names and values; of a number, one byte for two significant digits and one more. */
export const itemBytes = (item: Readonly<Record<string, AttributeValue>>): number =>
  Object.entries(item).reduce((bytes, [name, value]) => bytes + Buffer.byteLength(name) + valueBytes(value), 0);

function valueBytes({ S, N, B }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return numberBytes(N);
  if (B !== undefined) return B.byteLength;
  throw new Error('no record of ours has such an attribute');
}

/** Zeros before and behind the others are not counted. */
const numberBytes = (text: string): number => Math.ceil(text.replace(/[-.]/g, '').replace(/^0+|0+$/g, '').length / 2) + 1;

/** `4 bytes + (PartitionKey + RowKey) × 2 + for each property: 8 bytes + name × 2 + value`, as the billing of Table Storage is documented. */
export function entityBytes(entity: Readonly<Record<string, unknown>>): number {
  const properties = Object.entries(entity).filter(([name]) => !OF_THE_SERVICE.has(name) && !name.startsWith('odata.'));
  const keys = 4 + (String(entity.partitionKey).length + String(entity.rowKey).length) * 2;
  return properties.reduce((bytes, [name, value]) => bytes + 8 + name.length * 2 + propertyBytes(value), keys);
}

const OF_THE_SERVICE: ReadonlySet<string> = new Set(['partitionKey', 'rowKey', 'etag', 'timestamp']);

function propertyBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * 2 + 4;
  if (value instanceof Uint8Array) return value.byteLength + 4;
  if (typeof value === 'number') return Number.isInteger(value) ? 4 : 8;
  return 8;
}
