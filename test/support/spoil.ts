/** Changes whatever of a value can be changed, as a caller may do to what is handed out. */
export function spoil(value: unknown, met: Set<unknown> = new Set()): void {
  if (typeof value !== 'object' || value === null || met.has(value)) return;
  met.add(value);
  if (value instanceof Date) value.setTime(12_345);
  else if (value instanceof ArrayBuffer) new Uint8Array(value).fill(9);
  else if (ArrayBuffer.isView(value)) new Uint8Array(value.buffer, value.byteOffset, value.byteLength).fill(9);
  else if (value instanceof Map) {
    for (const [key, kept] of [...value]) {
      spoil(key, met);
      spoil(kept, met);
    }
    value.clear();
  } else if (value instanceof Set) {
    for (const kept of [...value]) spoil(kept, met);
    value.add('spoiled');
  } else if (value instanceof URL) value.pathname = '/spoiled';
  else if (value instanceof URLSearchParams) value.append('spoiled', '1');
  else {
    for (const kept of Object.values(value)) spoil(kept, met);
    Reflect.set(value, Array.isArray(value) ? value.length : 'spoiled', true);
  }
}
