/**
 * An Azure Functions request as the HTTP engine sees it.
 *
 * @module
 */
import type { HttpRequest } from '@azure/functions';
import { invalidOptions } from '../../core/options.ts';
import type { HttpRequestView } from '../../http/guard-http.ts';

/** The body is a copy, read where it has to be hashed; the handler reads its own. */
export function viewOf(request: HttpRequest, maxBodyBytes: number): HttpRequestView {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method.toUpperCase(),
    path: pathname,
    query: search.slice(1),
    header: (name) => request.headers.get(name) ?? undefined,
    body: new Uint8Array(),
    readBody: () => bodyOf(request, maxBodyBytes),
  };
}

/** What a user's function may read without taking the body from the handler. */
export const copyOf = (request: HttpRequest): HttpRequest => (request.body === null || request.bodyUsed ? request : request.clone());

async function bodyOf(request: HttpRequest, maxBytes: number): Promise<Pick<HttpRequestView, 'body' | 'tooLong'>> {
  const nothing = new Uint8Array();
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return { body: nothing, tooLong: true };
  if (request.bodyUsed) {
    throw invalidOptions('idempotentHttp', [
      'the body was read before the handler (by a hook?): read a clone of the request there, or set fingerprint',
    ]);
  }
  if (request.body === null) return { body: nothing };
  const { body } = request.clone();
  if (body === null) return { body: nothing };
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
    if (done || value === undefined) return { body: Buffer.concat(chunks) };
    bytes += value.byteLength;
    if (bytes > maxBytes) break;
    chunks.push(value);
  }
  // A body without a declared length may have no end. Not awaited: half of a cloned body is cancelled only when the other half is, too.
  void reader.cancel().catch(() => {});
  return { body: nothing, tooLong: true };
}
