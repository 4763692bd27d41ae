/**
 * What makes two requests the same request: method, path, query, content type, body.
 *
 * @module
 */
import { fingerprintOf } from '../core/fingerprint.ts';
import type { HttpRequestView } from './message.ts';

/** The input to fingerprint. Short: the body is hashed already. */
export function requestInput(view: HttpRequestView): Readonly<Record<string, string>> {
  const query = new URLSearchParams(view.query);
  query.sort();
  const type = mediaType(view.header('content-type'));
  return { method: view.method, path: view.path, query: query.toString(), type: type.name, body: bodyHash(view.body, type) };
}

interface MediaType {
  readonly name: string;
  readonly boundary?: string;
}

function mediaType(header = ''): MediaType {
  const name = (header.split(';', 1)[0] as string).trim().toLowerCase();
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(header);
  const value = boundary?.[1] ?? boundary?.[2];
  return name.startsWith('multipart/') && value !== undefined ? { name, boundary: value } : { name };
}

function bodyHash(body: Uint8Array, { name, boundary }: MediaType): string {
  if (name === 'application/json' || name.endsWith('+json')) {
    try {
      return fingerprintOf({ json: parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(body)) });
    } catch {
      // No JSON, or nested too deeply: what the handler makes of it is its own affair, the bytes are what was sent.
    }
  }
  if (boundary === undefined) return fingerprintOf(body);
  // A boundary is drawn anew each time the same form is encoded.
  return fingerprintOf({ parts: Buffer.from(body).toString('latin1').split(`--${boundary}`) });
}

/** Numbers that a double would round keep their digits: two amounts that differ in the 17th digit are two requests. */
function parseExactly(text: string): unknown {
  return JSON.parse(text, function exactly(this: unknown, _key: string, value: unknown, context?: { source?: string }) {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const digits = context.source
      .replace(/e.*$/i, '')
      .replace(/[^0-9]/g, '')
      .replace(/^0+/, '');
    return digits.length > 15 || !Number.isFinite(value) ? { [EXACT]: context.source } : value;
  } as (this: unknown, key: string, value: unknown) => unknown);
}

const EXACT = '\u0000number';
