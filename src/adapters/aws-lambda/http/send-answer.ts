/**
 * An answer written to the stream that Lambda hands to a streaming handler.
 *
 * @module
 */
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { bytesOf } from '../../../http/read-stream.ts';

/** What the runtime hands over: in newer runtimes no `Writable`, only an object with its methods. */
type Sink = Writable & { setContentType?(type: string): void };

type Runtime = { readonly HttpResponseStream?: { from?(stream: Sink, prelude: object): Sink } } | undefined;

/** By this the runtime knows a streaming handler; `awslambda.streamifyResponse` sets it, and nothing else. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');

/** Without the global of the runtime, so that a module can be loaded, and its handler called, wherever it is tested. */
export function markStreaming<H extends object>(handler: H): H {
  // A streaming handler takes event, stream and context: the runtime refuses three parameters only where nothing is streamed.
  Object.defineProperty(handler, 'length', { value: 3, configurable: true });
  return Object.assign(handler, { [STREAMING]: 'response' });
}

export const isResponseStream = (stream: unknown): stream is Writable => typeof (stream as Partial<Writable> | undefined)?.write === 'function';

/**
 * Resolves when everything has been taken. Rejects with what ended the body early: the runtime then tells the client that the answer is not whole.
 *
 * The response stream itself is never destroyed here: that would break the connection to the runtime, and the sandbox with it.
 *
 * @param signal Stops a body that is a stream.
 */
export async function sendAnswer(stream: Writable, prelude: object, body: Uint8Array | Readable, signal: AbortSignal): Promise<void> {
  if (stream.destroyed) throw goneAway();
  const sink = begin(stream, prelude);
  if (body instanceof Uint8Array) await flow(Readable.from(body.byteLength === 0 ? [] : [body]), sink);
  else await flow(body, sink, signal);
}

/** At once: a client sees status and headers before the first chunk, and an answer without a body has them too. */
function begin(stream: Sink, prelude: object): Sink {
  const runtime = (globalThis as { readonly awslambda?: Runtime }).awslambda;
  if (typeof runtime?.HttpResponseStream?.from === 'function' && stream.setContentType !== undefined) {
    const sink = runtime.HttpResponseStream.from(stream, prelude);
    // The runtime puts the prelude before the first write, and forgets it where there is none.
    sink.write('');
    return sink;
  }
  stream.setContentType?.('application/vnd.awslambda.http-integration-response');
  stream.write(JSON.stringify(prelude));
  stream.write(new Uint8Array(8));
  return stream;
}

async function flow(source: Readable, sink: Sink, signal?: AbortSignal): Promise<void> {
  const target = intoSink(sink);
  const broken = (error?: Error): void => void target.destroy(error ?? goneAway());
  const closed = (): void => {
    if (!sink.writableFinished) broken();
  };
  sink.on('error', broken);
  sink.on('close', closed);
  try {
    await unlessStopped(signal, pipeline(source, target));
  } catch (error) {
    // Given up: when the connection breaks later, that must not end the process.
    sink.on('error', () => {});
    target.destroy();
    throw error;
  } finally {
    sink.off('close', closed);
    sink.off('error', broken);
  }
}

/**
 * What is made of a stream, or the signal's reason as soon as it aborts. Whoever calls closes the stream, which is not enough alone: a source that
 * does not listen goes on, and the invocation would end first.
 *
 * A signal that has aborted before stops nothing: what time is left is better spent on sending.
 */
export async function unlessStopped<V>(signal: AbortSignal | undefined, made: Promise<V>): Promise<V> {
  if (signal === undefined || signal.aborted) return made;
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
  });
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([stopped, made]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Takes chunks no faster than the runtime does, and ends with the sink, but does not take it along when it fails. */
function intoSink(sink: Sink): Writable {
  let goOn = (): void => {};
  const drained = (): void => goOn();
  return new Writable({
    objectMode: true,
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      try {
        goOn = done;
        if (sink.write(bytesOf(chunk))) done();
        else sink.once('drain', drained);
      } catch (error) {
        done(error as Error);
      }
    },
    final(done) {
      sink.end((error?: Error | null) => done(error));
    },
    destroy(error, done) {
      sink.off('drain', drained);
      done(error);
    },
  });
}

const goneAway = (): Error => new Error('The response stream was closed before the answer was complete. What was done is done, and recorded.');
