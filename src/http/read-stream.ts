/**
 * Reads a streamed body as far as it may be recorded.
 *
 * @module
 */
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { isArrayBuffer } from 'node:util/types';

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

/** @throws TypeError for a chunk that is no bytes, and whatever the stream throws. */
export async function readUpTo(stream: Streamed, maxBytes: number): Promise<ReadStream> {
  const chunks = chunksOf(stream);
  const read: Uint8Array[] = [];
  try {
    for (let bytes = 0; bytes <= maxBytes; bytes += read.at(-1)?.byteLength ?? 0) {
      const next = await chunks.next();
      if (next.done === true) return { kind: 'ended', body: Buffer.concat(read) };
      read.push(bytesOf(next.value));
    }
  } catch (error) {
    // Nobody reads on, which whoever makes the stream has to hear; what comes of it is not waited for.
    chunks.return(undefined).catch(() => {});
    throw error;
  }
  return { kind: 'longer', whole: Readable.from(inBytes(chunks, read)) };
}

/**
 * The chunks of a source as bytes of their own, taken before a `Readable` reads on: a source may fill the same memory again for its next chunk.
 *
 * No generator: one that was never started does not pass on that its reader has gone, and whoever makes the stream has to hear of it.
 */
export function inBytes(chunks: AsyncIterator<unknown>, read: readonly Uint8Array[] = []): AsyncIterable<Uint8Array> {
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

async function* chunksOf(stream: Streamed): AsyncGenerator<unknown, void, undefined> {
  if (Symbol.asyncIterator in stream) return yield* stream;
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

/**
 * Text or bytes, as bytes of their own.
 *
 * @throws TypeError for anything else: taken for nothing, it would be kept as an answer that is empty.
 */
export function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (isArrayBuffer(chunk)) return new Uint8Array(chunk.slice(0));
  // Of a view the bytes, not the elements: a Uint16Array has two for each.
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength).slice();
  throw new TypeError("The handler's answer is malformed: what its stream yields must be text or bytes.");
}
