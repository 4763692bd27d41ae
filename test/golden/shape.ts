/**
 * The form of a row without what is in it: names and types of columns, and the names and types within its body.
 *
 * @module
 */
import type { RawRow } from './places.ts';

/** Column or path to its type. What the codec makes of a value is its own matter: of that only whether it is plain JSON. */
export function shapeOf(row: RawRow): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(row)) add(found, name, value);
  return found;
}

const CODEC = /\.(value|data)$/;
/** Names that somebody has chosen. */
const GIVEN = /\.steps\.[^.]+/;

function add(found: Record<string, string>, at: string, value: unknown): void {
  const path = at.replace(GIVEN, '.steps.*');
  const parsed = /(^|\.)body\d*(\.S)?$/.test(at) ? fromJson(value) : undefined;
  if (parsed !== undefined) add(found, `${at}:`, parsed);
  else if (CODEC.test(at)) put(found, path, typeof value === 'object' && value !== null && 'json' in value ? 'plain JSON' : 'of the library');
  else if (value instanceof Uint8Array) put(found, path, 'bytes');
  else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    // Beside its value an entity says its type.
    if ('type' in value && 'value' in value) put(found, path, String(value.type));
    else for (const [name, inner] of Object.entries(value)) add(found, `${at}.${name}`, inner);
  } else put(found, path, value === null ? 'null' : typeof value);
}

/** Steps under one name may be of several kinds. */
function put(found: Record<string, string>, path: string, type: string): void {
  found[path] = [...new Set([...(found[path]?.split(' | ') ?? []), type])].sort().join(' | ');
}

function fromJson(value: unknown): unknown {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
  return typeof text === 'string' ? JSON.parse(text) : undefined;
}
