/**
 * Reads a streamed body as far as it may be recorded.
 *
 * @module
 */
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';

/** Bytes, or text in UTF-8. */
type Chunk = Uint8Array | ArrayBuffer | string;
export type Streamed =
  | AsyncIterable<Chunk>
  | { getReader(): { read(): Promise<{ done: boolean; value?: Chunk | undefined }>; cancel(): Promise<void> } };

export type ReadStream =
  | { readonly kind: 'ended'; readonly body: Uint8Array }
  /** Longer than that: all of it, what was read already included. */
  | { readonly kind: 'longer'; readonly whole: Readable };

/**
 * Nobody reads a handler's stream before its record is complete: without a listener, its failure in the meantime would end the process. Whoever reads
 * it later is told all the same.
 */
export function heard<S>(stream: S): S {
  if (stream instanceof EventEmitter) stream.on('error', () => {});
  return stream;
}

export async function readUpTo(stream: Streamed, maxBytes: number): Promise<ReadStream> {
  const chunks = chunksOf(stream)[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes <= maxBytes; bytes += read.at(-1)?.byteLength ?? 0) {
    const next = await chunks.next();
    if (next.done === true) return { kind: 'ended', body: Buffer.concat(read) };
    read.push(bytesOf(next.value));
  }
  return { kind: 'longer', whole: Readable.from(wholeOf(read, chunks)) };
}

/** No generator: one that was never started does not pass on that its reader has gone, and whoever makes the stream has to hear of it. */
function wholeOf(read: readonly Uint8Array[], chunks: AsyncIterator<Chunk>): AsyncIterable<Uint8Array> {
  const waiting = [...read];
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const first = waiting.shift();
      if (first !== undefined) return { done: false, value: first };
      const next = await chunks.next();
      return next.done === true ? { done: true, value: undefined } : { done: false, value: bytesOf(next.value) };
    },
    async return() {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* chunksOf(stream: Streamed): AsyncGenerator<Chunk> {
  if (Symbol.asyncIterator in stream) return yield* stream;
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done && next.value !== undefined; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

const bytesOf = (chunk: Chunk): Uint8Array =>
  typeof chunk === 'string' ? Buffer.from(chunk) : chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : bytesUnder(chunk);

/** The bytes of any view, not its elements: a Uint16Array has two for each. */
const bytesUnder = (chunk: Uint8Array | ArrayBufferView): Uint8Array =>
  Uint8Array.from(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
