/**
 * Any value that a codec gives back, as plain JSON: bytes as base64, times in ISO 8601, the rest as near as JSON comes to it.
 *
 * @module
 */
import { inspect, types } from 'node:util';

export function plainJson(value: unknown, above: readonly object[] = []): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean' ? value : String(value);
  // It has no end.
  if (above.includes(value)) return '[circular]';
  if (types.isUint8Array(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plainJson(item, inside));
  if (value instanceof Map) return [...value].map((entry) => entry.map((item) => plainJson(item, inside)));
  if (value instanceof Set) return [...value].map((item) => plainJson(item, inside));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return inspect(value);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plainJson(item, inside)]));
}
