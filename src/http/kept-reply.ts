/**
 * What of a reply is kept, and which replies are.
 *
 * @module
 */
import type { HttpReply } from './message.ts';

/** A reply in a record. A body that is text is kept as text, so that people can read it; anything else as bytes. */
export interface KeptReply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array;
  readonly attached?: unknown;
}

export const REPLAYED_HEADER = 'Idempotent-Replayed';

/** Lower case. */
export const KEPT_HEADERS: readonly string[] = [
  'content-type',
  'content-language',
  'content-encoding',
  'content-disposition',
  'location',
  'etag',
  'last-modified',
  'link',
  'retry-after',
];

const NEVER: ReadonlySet<string> = new Set([
  'set-cookie',
  'authorization',
  'authentication-info',
  'www-authenticate',
  'content-length',
  'content-security-policy',
  'content-security-policy-report-only',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'date',
  'age',
  'server',
  'server-timing',
  'traceparent',
  'tracestate',
  'request-id',
  'x-request-id',
  'request-context',
  'x-ms-request-id',
  'x-amzn-requestid',
  'x-amzn-trace-id',
]);

/** Belongs to one exchange (a session, an origin, a connection, a trace): wrong, or dangerous, in any other. */
export const isNeverKept = (name: string): boolean => NEVER.has(name.toLowerCase()) || /^(proxy-|access-control-)/i.test(name);

/** Repeating the request unchanged may well be answered differently: who asks, when, and what else is going on. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 408, 409, 423, 425, 429]);

/** 2xx, 3xx, and 4xx that would repeat. */
export const isFinal = (status: number): boolean => status >= 200 && status < 500 && !PASSING.has(status);

/** What a record of this operation holds, unless another kind of wrapper wrote it. */
export const isKeptReply = (value: unknown): value is KeptReply =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<KeptReply>).status === 'number' &&
  Array.isArray((value as Partial<KeptReply>).headers);

/** The work is done: what cannot be kept must not undo it. */
export function keptOrNot(make: () => HttpReply, storeHeaders: ReadonlySet<string>, failed: (error: unknown) => void): KeptReply {
  try {
    return keptReply(make(), storeHeaders);
  } catch (error) {
    failed(error);
    return { status: 200, headers: [], body: NOT_KEPT };
  }
}

/** A function is what the codec never keeps: the record completes without a value. */
const NOT_KEPT = (() => {}) as unknown as string;

export function keptReply(reply: HttpReply, storeHeaders: ReadonlySet<string>): KeptReply {
  return {
    status: reply.status,
    headers: reply.headers.filter(([name]) => storeHeaders.has(name.toLowerCase()) && !isNeverKept(name)).map(([name, value]) => [name, value]),
    // A function is what the codec never keeps: the record completes without a value.
    body: reply.streamed ? ((() => {}) as unknown as string) : keptBody(reply.body),
    ...(reply.attached === undefined ? {} : { attached: reply.attached }),
  };
}

export function replyOf(kept: KeptReply, replayed: boolean): HttpReply {
  return {
    status: kept.status,
    headers: replayed ? [...kept.headers, [REPLAYED_HEADER, 'true']] : kept.headers,
    body: typeof kept.body === 'string' ? new TextEncoder().encode(kept.body) : kept.body,
    ...(kept.attached === undefined ? {} : { attached: kept.attached }),
  };
}

function keptBody(body: Uint8Array): string | Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString('utf8');
  // Only where the very same bytes come back: UTF-8 decoding replaces what it does not understand.
  return bytes.equals(Buffer.from(text, 'utf8')) ? text : Uint8Array.from(bytes);
}
