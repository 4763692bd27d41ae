/**
 * What a handler may return, as bytes to keep; and a reply as what the host takes.
 *
 * Nothing here is imported from `@azure/functions` by value (a named import of its classes fails in ESM on some versions of Node), and
 * `HttpResponse.clone()` is never used: it throws for many a response.
 *
 * @module
 */
import type { Cookie, HttpResponse, HttpResponseInit, InvocationContext } from '@azure/functions';
import type { HttpOptions, HttpReply } from '../../http/guard-http.ts';
import { heard, readUpTo, type Streamed } from '../../http/read-stream.ts';
import { type Outputs, outputsOf, setOutputs } from './outputs.ts';

export type AzureResult = HttpResponseInit | HttpResponse;

export interface AzureReply extends HttpReply {
  /** Sent with the first answer, never kept. */
  readonly cookies?: Cookie[];
  readonly enableContentNegotiation?: boolean;
  /** A stream goes out as the handler returned it. */
  readonly asReturned?: AzureResult;
}

/** Statuses that have no body: the platform's classes throw when they are given one. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export async function replyFrom(result: unknown, context: InvocationContext, streams: HttpOptions<unknown>['streams'] = 'pass'): Promise<AzureReply> {
  const outputs = outputsOf(context);
  const attached = outputs === undefined ? {} : { attached: outputs };
  // The host makes 204 of no result at all.
  if (result === undefined || result === null) return { status: 204, headers: [], body: new Uint8Array(), ...attached };
  if (typeof result !== 'object') {
    throw new TypeError('The HTTP response must be an object with optional properties "body", "jsonBody", "status", "headers" and "cookies".');
  }
  const extras = extrasOf(result);
  if (isResponse(result)) {
    const headers = [...result.headers.entries()] as [string, string][];
    if (isEventStream(headers)) return streamed(result, result.status, headers, attached);
    return { status: result.status, headers, body: new Uint8Array(await result.arrayBuffer()), ...extras, ...attached };
  }
  const init = result as HttpResponseInit;
  const response = nativeResponse(init);
  const headers = [...response.headers.entries()];
  if (isStream(init)) {
    heard(init.body);
    // Server-sent events may have no end, and nobody would see the first before the last.
    if (streams === 'pass' || isEventStream(headers)) return streamed(init, response.status, headers, attached);
    const read = await readUpTo(init.body as Streamed, streams.recordUpTo);
    if (read.kind === 'longer') return streamed({ ...init, body: heard(read.whole) }, response.status, headers, attached);
    return { status: response.status, headers, body: read.body, ...extras, ...attached };
  }
  return { status: response.status, headers, body: new Uint8Array(await response.arrayBuffer()), ...extras, ...attached };
}

/** A plain init; sets the recorded outputs of a replay. */
export function initFrom(reply: AzureReply, context: InvocationContext): AzureResult {
  if (reply.asReturned !== undefined) return reply.asReturned;
  setOutputs(context, reply.attached as Outputs | undefined);
  const { status, headers, body, cookies, enableContentNegotiation } = reply;
  return {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
    ...(body.byteLength === 0 ? {} : { body }),
    ...(cookies === undefined ? {} : { cookies }),
    ...(enableContentNegotiation === undefined ? {} : { enableContentNegotiation }),
  };
}

const streamed = (asReturned: AzureResult, status: number, headers: HttpReply['headers'], more: Pick<HttpReply, 'attached'>): AzureReply => ({
  status,
  headers,
  body: new Uint8Array(),
  streamed: true,
  asReturned,
  ...more,
});

function extrasOf({ cookies, enableContentNegotiation }: AzureResult): Pick<AzureReply, 'cookies' | 'enableContentNegotiation'> {
  return {
    ...((cookies ?? []).length === 0 ? {} : { cookies }),
    ...(enableContentNegotiation === true ? { enableContentNegotiation } : {}),
  };
}

/** As the platform's own class does it: `jsonBody` wins, a content type is guessed from the body. A stream is not touched. */
function nativeResponse(init: HttpResponseInit): Response {
  const status = init.status ?? 200;
  const headers = new Headers(init.headers as ConstructorParameters<typeof Headers>[0]);
  if (WITHOUT_BODY.has(status) || isStream(init)) return new Response(null, { status, headers });
  if (init.jsonBody !== undefined && init.jsonBody !== null) {
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(init.jsonBody), { status, headers });
  }
  return new Response(init.body as ConstructorParameters<typeof Response>[0], { status, headers });
}

const isResponse = (result: object): result is HttpResponse =>
  'arrayBuffer' in result && typeof result.arrayBuffer === 'function' && 'headers' in result && 'status' in result;

/** No end is in sight: the one kind of stream a response object can be told to carry. */
const isEventStream = (headers: HttpReply['headers']): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/event-stream'));

/** Readable, ReadableStream or any AsyncIterable: read here, it would not be a stream any more. */
function isStream({ body, jsonBody, status }: HttpResponseInit): boolean {
  if (typeof body !== 'object' || body === null || (jsonBody !== undefined && jsonBody !== null) || WITHOUT_BODY.has(status ?? 200)) return false;
  return Symbol.asyncIterator in body || 'getReader' in body;
}
