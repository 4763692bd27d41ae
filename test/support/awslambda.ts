/**
 * What the Node.js runtime of Lambda gives to handlers of streams, and how it calls them: the answer is the body of a request, a failure after the
 * first byte travels in its trailers.
 *
 * @module
 */
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Context } from 'aws-lambda';

type Write = (chunk: string | Uint8Array) => void;
type Stream = Writable & { setContentType(type: string): void; _onBeforeFirstWrite?: (write: Write) => void };
type Handler<E> = (event: E, stream: Writable, context: Context) => Promise<void>;

const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');
const PRELUDE_TYPE = 'application/vnd.awslambda.http-integration-response';

/** The global. */
export const awslambda = {
  HttpResponseStream: {
    from(stream: Stream, prelude: object): Stream {
      stream.setContentType(PRELUDE_TYPE);
      stream._onBeforeFirstWrite = (write) => {
        write(JSON.stringify(prelude));
        write(new Uint8Array(8));
      };
      return stream;
    },
  },
};

/** The runtime hands over no `Writable`, only these of a request, and only `write` knows of the prelude. */
const METHODS = ['write', 'end', 'destroy', 'on', 'once', 'off', 'emit', 'removeListener', 'listenerCount'] as const;
const PROPERTIES = ['destroyed', 'writable', 'writableEnded', 'writableFinished', 'writableNeedDrain', 'writableLength'] as const;

function streamOver(sent: ClientRequest): Stream {
  let begun = false;
  const write = sent.write.bind(sent) as (chunk: unknown, ...rest: unknown[]) => boolean;
  sent.write = ((chunk: unknown, ...rest: unknown[]) => {
    if (!begun) stream._onBeforeFirstWrite?.((first) => void write(first));
    begun = true;
    return write(chunk, ...rest);
  }) as ClientRequest['write'];
  const stream = {
    setContentType(type: string) {
      if (begun) throw new Error('Cannot set content-type, too late.');
      sent.setHeader('Content-Type', type);
    },
  } as Stream;
  for (const name of METHODS) Object.assign(stream, { [name]: (sent[name] as (...given: never[]) => unknown).bind(sent) });
  for (const name of PROPERTIES) Object.defineProperty(stream, name, { get: () => sent[name] });
  return stream;
}

export interface Invoked {
  readonly contentType: string | undefined;
  /** undefined: none was written. */
  readonly prelude: Record<string, unknown> | undefined;
  readonly body: Buffer;
  /** Of an answer that broke off. */
  readonly errorType: string | undefined;
  /** What the handler threw. */
  readonly thrown: unknown;
  /** The connection to the platform was open to the end. */
  readonly whole: boolean;
}

/**
 * One invocation. `onTaken` sees the platform's side of the request as it begins: it can pause it, or break it off.
 *
 * @throws whatever the runtime would say of the handler.
 */
export async function invokeStreaming<E>(
  handler: Handler<E>,
  event: E,
  context: Context,
  onTaken: (taken: IncomingMessage) => void = () => {},
): Promise<Invoked> {
  if ((handler as { [STREAMING]?: unknown })[STREAMING] !== 'response') throw new Error('The handler is no streaming one.');
  const chunks: Buffer[] = [];
  let taken: IncomingMessage | undefined;
  const server = createServer((incoming, outgoing) => {
    taken = incoming;
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
    incoming.on('end', () => outgoing.writeHead(202).end());
    onTaken(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const headers = { 'Content-Type': 'application/octet-stream', 'Transfer-Encoding': 'chunked', Trailer: ['Lambda-Runtime-Function-Error-Type'] };
  const sent = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, method: 'POST', headers });
  const answered = new Promise<boolean>((resolve) => {
    sent.on('response', (response) => response.resume().on('end', () => resolve(true)));
    sent.on('error', () => resolve(false));
  });
  let thrown: unknown;
  try {
    const returned: unknown = handler(event, streamOver(sent), context);
    if (!(returned instanceof Promise)) throw new Error('Streaming does not support non-async handlers.');
    if ((await returned) !== undefined) throw new Error('Streaming handlers ignore return values.');
  } catch (error) {
    thrown = error;
    await turn();
    sent.addTrailers({ 'Lambda-Runtime-Function-Error-Type': error instanceof Error ? error.name : typeof error });
    sent.end();
  }
  if (!sent.writableEnded) throw new Error('Response stream is not finished.');
  const whole = await answered;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const errorType = taken?.trailers['lambda-runtime-function-error-type'];
  return { contentType: taken?.headers['content-type'], ...parted(Buffer.concat(chunks), taken), errorType, thrown, whole };
}

function parted(bytes: Buffer, taken: IncomingMessage | undefined): Pick<Invoked, 'prelude' | 'body'> {
  const end = bytes.indexOf(Buffer.alloc(8));
  if (taken?.headers['content-type'] !== PRELUDE_TYPE || end < 0) return { prelude: undefined, body: bytes };
  return { prelude: JSON.parse(bytes.subarray(0, end).toString()) as Record<string, unknown>, body: bytes.subarray(end + 8) };
}
