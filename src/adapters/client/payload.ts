/**
 * A request as it is sent each time: the very same bytes, whatever was handed in.
 *
 * @module
 */
import { fingerprintOf } from '../../core/fingerprint.ts';
import { invalidOptions } from '../../core/options.ts';
import { requestInput } from '../../http/request-fingerprint.ts';

export interface Payload {
  /** Upper case. */
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Everything else that fetch was told. */
  readonly rest: RequestInit;
  /** What makes two requests the same request. */
  readonly fingerprint: string;
}

export type RequestInput = string | URL | Request;

export const methodOf = (input: RequestInput, init: RequestInit | undefined): string =>
  (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();

/** As fetch does: the one given beside a `Request` comes first, and `null` takes that of the `Request` away. */
export function signalOf(input: RequestInput, init: RequestInit | undefined): AbortSignal | undefined {
  const signal = init?.signal === undefined && input instanceof Request ? input.signal : init?.signal;
  return signal ?? undefined;
}

/** A body that can be read once only. */
export const isStream = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);

/**
 * Reads the body to its end, streams too: what cannot be sent again cannot be tried again.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for a body over the limit; the signal's reason; what fetch throws for a request that is none.
 */
export async function readPayload(input: RequestInput, init: RequestInit | undefined, maxBodyBytes: number, signal?: AbortSignal): Promise<Payload> {
  // The signal stays outside: a request that nobody holds any more no longer hears it.
  const method = methodOf(input, init);
  const request = new Request(input, { ...init, method, signal: null, duplex: 'half' });
  const { origin, pathname, search, protocol } = new URL(request.url);
  // Otherwise fetch would call it a network error, which is tried again.
  if (!/^https?:$/.test(protocol)) throw invalidOptions('idempotentFetch', [`the address must begin with http, not ${protocol}`]);
  const body = request.body === null ? undefined : await readAll(request.body, maxBodyBytes, signal);
  const view = {
    method,
    path: pathname,
    query: search.slice(1),
    header: (name: string) => request.headers.get(name) ?? undefined,
    body: body ?? new Uint8Array(),
  };
  return {
    method,
    url: request.url,
    headers: new Headers(request.headers),
    body,
    rest: { ...(input instanceof Request ? settingsOf(input) : {}), ...init },
    fingerprint: fingerprintOf({ origin, ...requestInput(view) }),
  };
}

const settingsOf = ({ redirect, credentials, cache, mode, referrer, referrerPolicy, integrity, keepalive }: Request): RequestInit =>
  ({ redirect, credentials, cache, mode, referrer, referrerPolicy, integrity, keepalive }) as RequestInit;

async function readAll(stream: ReadableStream<Uint8Array>, maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  // A cancelled reader ends at once, even where the source never would.
  const onAbort = (): void => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      // What is no bytes has no length either, and could go on for ever.
      if (!(next.value instanceof Uint8Array)) throw invalidOptions('idempotentFetch', ['the stream of the body must give bytes']);
      bytes += next.value.byteLength;
      if (bytes > maxBytes) {
        reader.cancel().catch(() => {});
        throw invalidOptions('idempotentFetch', [
          `the body is longer than maxBodyBytes (${maxBytes}): it has to be kept to be sent again. Nothing was sent`,
        ]);
      }
      chunks.push(next.value);
    }
    signal?.throwIfAborted();
    return new Uint8Array(Buffer.concat(chunks));
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
