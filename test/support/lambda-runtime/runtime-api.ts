/**
 * The platform's side of the Runtime API: hands invocations to one process, and takes its answers.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API, type Failure, HEADER, type Leftovers, PRELUDE_END, PRELUDE_TYPE } from './wire.ts';

export interface Invocation {
  readonly requestId: string;
  readonly deadlineMs: number;
  readonly functionArn: string;
  /** JSON. */
  readonly event: string;
}

export interface Streamed {
  readonly contentType: string;
  /** Status and headers of an HTTP integration. */
  readonly prelude?: unknown;
  readonly body: Buffer;
}

export type Answer =
  | { readonly kind: 'response'; readonly payload: unknown; readonly streamed?: Streamed }
  | ({ readonly kind: 'error'; readonly streamed?: Streamed } & Failure);

export class RuntimeApi {
  readonly #server: Server;
  readonly #polls: ServerResponse[] = [];
  readonly #undelivered: Invocation[] = [];
  readonly #open = new Map<string, (answer: Answer) => void>();
  /** The process asks for its next invocation, so it is done with the last one. */
  onPoll: (leftovers: Leftovers | undefined) => void = () => {};
  onInitError: (failure: Failure) => void = () => {};

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch((error: unknown) => {
        if (!response.headersSent) refuse(response, 500, 'InternalServerError', String(error));
      });
    });
    // A poll waits as long as there is nothing to do, a stream as long as its handler takes.
    this.#server.requestTimeout = 0;
  }

  static async start(): Promise<RuntimeApi> {
    const api = new RuntimeApi();
    await new Promise<void>((listening, failed) => api.#server.once('error', failed).listen(0, '127.0.0.1', listening));
    return api;
  }

  /** For `AWS_LAMBDA_RUNTIME_API`. */
  get hostAndPort(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Hands it out with the next poll. Resolves with the answer; never, where none comes. */
  deliver(invocation: Invocation): Promise<Answer> {
    const answered = new Promise<Answer>((resolve) => this.#open.set(invocation.requestId, resolve));
    this.#undelivered.push(invocation);
    this.#handOut();
    return answered;
  }

  /** Nobody waits for its answer any more; one that comes is refused. */
  forget(requestId: string): void {
    this.#open.delete(requestId);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #handOut(): void {
    while (this.#polls.length > 0 && this.#undelivered.length > 0) {
      const { requestId, deadlineMs, functionArn, event } = this.#undelivered.shift() as Invocation;
      this.#polls
        .shift()
        ?.writeHead(200, {
          'Content-Type': 'application/json',
          [HEADER.requestId]: requestId,
          [HEADER.deadlineMs]: String(deadlineMs),
          [HEADER.functionArn]: functionArn,
          [HEADER.traceId]: `Root=1-${requestId.slice(0, 8)}-${requestId.replaceAll('-', '').slice(0, 24)};Sampled=0`,
        })
        .end(event);
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method} ${request.url}`;
    if (route === `GET ${API}/invocation/next`) {
      this.#polls.push(response);
      const given = headerOf(request, HEADER.leftovers);
      this.onPoll(given === undefined ? undefined : (JSON.parse(decodeURIComponent(given)) as Leftovers));
      return this.#handOut();
    }
    const body = await bytesOf(request);
    if (route === `POST ${API}/init/error`) {
      this.onInitError(JSON.parse(body.toString()) as Failure);
      return accept(response);
    }
    const [, requestId, what] = /^POST .*\/invocation\/([^/]+)\/(response|error)$/.exec(route) ?? [];
    if (requestId === undefined) return refuse(response, 404, 'NotFound', route);
    const tell = this.#open.get(requestId);
    // Answered, given up, or never handed out.
    if (tell === undefined) return refuse(response, 400, 'InvalidRequestID', 'Invalid request ID');
    this.#open.delete(requestId);
    tell(what === 'error' ? { kind: 'error', ...(JSON.parse(body.toString()) as Failure) } : answerOf(request, body));
    accept(response);
  }
}

function answerOf(request: IncomingMessage, body: Buffer): Answer {
  if (headerOf(request, HEADER.responseMode) !== 'streaming') return { kind: 'response', payload: JSON.parse(body.toString()) };
  const streamed = streamedOf(request.headers['content-type'] ?? '', body);
  const failed = request.trailers[HEADER.errorBody.toLowerCase()];
  if (failed === undefined) return { kind: 'response', payload: undefined, streamed };
  return { kind: 'error', streamed, ...(JSON.parse(Buffer.from(failed, 'base64').toString()) as Failure) };
}

function streamedOf(contentType: string, bytes: Buffer): Streamed {
  const end = contentType === PRELUDE_TYPE ? bytes.indexOf(PRELUDE_END) : -1;
  if (end < 0) return { contentType, body: bytes };
  return { contentType, prelude: JSON.parse(bytes.subarray(0, end).toString()), body: bytes.subarray(end + PRELUDE_END.length) };
}

const accept = (response: ServerResponse): void => void response.writeHead(202, { 'Content-Type': 'application/json' }).end('{"status":"OK"}');

function refuse(response: ServerResponse, status: number, errorType: string, errorMessage: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ errorType, errorMessage }));
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
