/**
 * Answers whose body is a stream: what of them is kept, and what goes out.
 *
 * @module
 */
import type { Readable } from 'node:stream';
import type { HttpReply } from '../../../http/guard-http.ts';
import { readUpTo, type Streamed } from '../../../http/read-stream.ts';
import type { Streams } from './engine.ts';
import { type HandedStreams, isStream } from './handed-streams.ts';
import { headOf, malformed } from './reply.ts';
import { unlessStopped } from './send-answer.ts';

type Values<V> = Readonly<Record<string, V>> | undefined;

/** What a handler returns where answers are streamed. */
export interface StreamedAnswer {
  readonly statusCode: number;
  readonly headers?: Values<boolean | number | string>;
  readonly multiValueHeaders?: Values<readonly (boolean | number | string)[]>;
  readonly cookies?: readonly string[] | undefined;
  /** `Readable`, `ReadableStream`, any `AsyncIterable` of text (UTF-8) and bytes; or the whole as text or bytes. Default: empty. */
  readonly body?: Streamed | Uint8Array | string | null | undefined;
  /** The body is text in base64, and goes out decoded. Beside a stream or bytes it is malformed: those go out as they are. */
  readonly isBase64Encoded?: boolean | undefined;
}

/** A reply, and how the first caller gets it. */
export interface StreamReply extends HttpReply {
  readonly goesOut?: { readonly prelude: object; readonly body: Uint8Array | Readable };
}

/**
 * @param signal Stops the reading: a record that is not complete when the sandbox is killed would let the work run again.
 * @throws TypeError for what is no answer, and whatever a stream throws that is read.
 */
export async function streamReplyFrom(answer: unknown, streams: Streams, handed: HandedStreams, signal?: AbortSignal): Promise<StreamReply> {
  if (isStream(answer)) handed.take(answer);
  if (typeof answer !== 'object' || answer === null) throw malformed('it must return an object with a statusCode');
  const { body, isBase64Encoded, ...rest } = answer as Omit<StreamedAnswer, 'body'> & { readonly body?: unknown };
  const stream = isStream(body) ? handed.take(body) : undefined;
  const { status, headers } = headOf(answer);
  const prelude = { ...rest, statusCode: status };
  if (isBase64Encoded === true && typeof body === 'object' && body !== null) {
    throw malformed('isBase64Encoded is for a body that is text; a stream or bytes go out as they are: decode them, and leave it out');
  }
  if (stream === undefined) {
    const whole = wholeOf(body, isBase64Encoded === true);
    return { status, headers, body: whole, goesOut: { prelude, body: whole } };
  }
  const passed = (out: Readable): StreamReply => ({
    status,
    headers,
    body: new Uint8Array(),
    streamed: true,
    goesOut: { prelude, body: out },
  });
  // Server-sent events may have no end, and nobody would see the first before the last.
  // And where hardly any time is left, the record comes first.
  if (streams === 'pass' || isEventStream(headers) || signal?.aborted) return passed(stream);
  const read = await unlessStopped(signal, readUpTo(stream, streams.recordUpTo));
  if (read.kind === 'longer') return passed(read.whole);
  return { status, headers, body: read.body, goesOut: { prelude, body: read.body } };
}

function wholeOf(body: unknown, base64: boolean): Uint8Array {
  if (body === undefined || body === null) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  if (typeof body !== 'string') throw malformed(`body must be a stream, bytes or a string, not ${typeof body}`);
  return Buffer.from(body, base64 ? 'base64' : 'utf8');
}

const isEventStream = (headers: HttpReply['headers']): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && value.toLowerCase().startsWith('text/event-stream'));
