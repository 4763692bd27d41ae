/**
 * Streamed answers as the runtime offers them: a writable that is the body of a request to the Runtime API, and the global `awslambda`.
 *
 * @module
 */
import type { ClientRequest } from 'node:http';
import { STREAMING } from './user-function.ts';
import { failureOf, HEADER, PRELUDE_END, PRELUDE_TYPE } from './wire.ts';

const METHODS = [
  ...(['cork', 'uncork', 'write', 'end', 'destroy', 'on', 'once', 'off', 'emit', 'addListener', 'removeListener', 'removeAllListeners'] as const),
  ...(['prependListener', 'prependOnceListener', 'listeners', 'rawListeners', 'listenerCount', 'eventNames', 'setMaxListeners'] as const),
];
const PROPERTIES = [
  ...(['destroyed', 'writable', 'writableEnded', 'writableFinished', 'writableLength', 'writableHighWaterMark'] as const),
  ...(['writableCorked', 'writableObjectMode'] as const),
];
const BEFORE_FIRST_WRITE = Symbol('before the first write');

/** What a handler is handed. No `Writable`: the runtime lets through only some of it, and so does this. */
export type ResponseStream = Pick<ClientRequest, (typeof METHODS)[number] | (typeof PROPERTIES)[number]> & {
  /** Before the first write only. */
  setContentType(type: string): void;
  [BEFORE_FIRST_WRITE]?: (write: (chunk: string | Uint8Array) => void) => void;
};

/** The headers of the request that carries a stream. */
export const STREAM_HEADERS = {
  [HEADER.responseMode]: 'streaming',
  Trailer: [HEADER.errorType, HEADER.errorBody],
  'Content-Type': 'application/octet-stream',
  'Transfer-Encoding': 'chunked',
};

export function responseStream(request: ClientRequest): ResponseStream {
  let begun = false;
  const send = request.write.bind(request) as (chunk: string | Uint8Array, ...rest: unknown[]) => boolean;
  const write = (chunk: unknown, ...rest: unknown[]): boolean => {
    if (!begun) {
      begun = true;
      stream[BEFORE_FIRST_WRITE]?.((first) => void send(first));
    }
    return send(typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk : JSON.stringify(chunk), ...rest);
  };
  request.write = write as ClientRequest['write'];
  const stream = {
    setContentType(type: string) {
      if (begun) throw Object.assign(new Error('Cannot set content-type, too late.'), { name: 'Runtime.InvalidStreamingOperation' });
      request.setHeader('Content-Type', type);
    },
  } as ResponseStream;
  for (const method of METHODS)
    Object.defineProperty(stream, method, { value: (request[method] as (...parameters: never[]) => unknown).bind(request) });
  for (const property of PROPERTIES) Object.defineProperty(stream, property, { get: () => request[property] });
  return stream;
}

/** A failure after the first byte: the status has gone out, so it travels in trailers. */
export function failStream(request: ClientRequest, error: unknown): void {
  const failure = failureOf(error);
  request.addTrailers({
    [HEADER.errorType]: failure.errorType,
    [HEADER.errorBody]: Buffer.from(JSON.stringify(failure)).toString('base64'),
  });
  request.end();
}

/** The global that handlers of streams are written against. */
export const awslambda = {
  streamifyResponse: <H extends (...parameters: never[]) => unknown>(handler: H): H => Object.assign(handler, { [STREAMING]: 'response' }),
  HttpResponseStream: {
    from(stream: ResponseStream, prelude: unknown): ResponseStream {
      stream.setContentType(PRELUDE_TYPE);
      stream[BEFORE_FIRST_WRITE] = (write) => {
        write(JSON.stringify(prelude));
        write(PRELUDE_END);
      };
      return stream;
    },
  },
};
