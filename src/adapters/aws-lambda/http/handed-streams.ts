/**
 * Streams that came from a handler: none is left open when the invocation ends.
 *
 * @module
 */
import { Readable } from 'node:stream';
import { heard, inBytes } from '../../../http/read-stream.ts';

/** Readable, ReadableStream or any other AsyncIterable. */
export const isStream = (body: unknown): body is AsyncIterable<unknown> => typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

/**
 * The streams that a handler has handed over in one invocation. One that is not sent in the end (the lease was lost, another attempt's outcome
 * stands) has to be closed: it holds a socket or a file.
 */
export class HandedStreams {
  readonly #streams = new Set<Readable>();

  take(stream: AsyncIterable<unknown>): Readable {
    const readable = heard(isReadable(stream) ? stream : Readable.from(inBytes(stream[Symbol.asyncIterator]())));
    this.#streams.add(readable);
    return readable;
  }

  close(): void {
    for (const stream of this.#streams) stream.destroy();
  }
}

/** By what it can do: there are several copies of the stream library. */
const isReadable = (stream: AsyncIterable<unknown>): stream is Readable =>
  'pipe' in stream && 'on' in stream && 'destroy' in stream && typeof stream.destroy === 'function';
