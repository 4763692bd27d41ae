/**
 * A proxy that stands between a real SDK and a real emulator and spoils chosen requests, as networks do.
 *
 * @module
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * - `drop-answer`: forwarded and answered upstream, so it *was* applied; then the client's connection is reset.
 * - `drop-request`: the connection is reset before anything was forwarded.
 * - `{ delayMs }`: applied at once and answered late; with `at: 'request'` it is applied late, even when the client has gone by then.
 * - `stall`: applied, not answered until `clear` or `stop`, which reset the connection.
 * - `half-answer`: applied; the answer breaks off in its middle.
 * - `duplicate`: sent upstream twice, the second answer is returned.
 * - `close-after`: answered, then the kept-alive connection is closed unannounced.
 * - `{ status }`: not forwarded; answered by the proxy.
 */
export type FaultAction =
  | 'drop-answer'
  | 'drop-request'
  | 'stall'
  | 'half-answer'
  | 'duplicate'
  | 'close-after'
  | { readonly delayMs: number; readonly at?: 'request' | 'answer' }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface Fault {
  /** Default: every request. */
  readonly match?: (request: ProxiedRequest) => boolean;
  /** The first matching request to spoil, counted from 1 at the time of injection. Default 1. */
  readonly nth?: number;
  /** How many matching requests in a row. Default 1. */
  readonly times?: number;
  readonly action: FaultAction;
}

export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  /** `x-amz-target`, where the SDK names the operation in a header. */
  readonly target?: string;
  /** The fault that was applied. */
  fault?: FaultAction;
  /** What upstream (or the proxy) answered, whether or not the client got to see it. */
  status?: number;
}

export interface Injected {
  /** Settles when the fault was first applied: for faults of the answer, after upstream has applied the request. Never rejects. */
  readonly fired: Promise<LoggedRequest>;
}

export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  /** Every request that arrived, oldest first; retries of an SDK are requests of their own. */
  readonly requests: readonly LoggedRequest[];
  inject(fault: Fault): Injected;
  count(match?: (request: LoggedRequest) => boolean): number;
  /** Takes back all faults, empties the log and resets what is stalled. */
  clear(): void;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: string[];
  readonly body: Buffer;
}

interface Armed {
  readonly fault: Fault;
  readonly fire: (logged: LoggedRequest) => void;
  matched: number;
}

/**
 * Starts a proxy on a free loopback port.
 *
 * @example
 * const proxy = await startFaultProxy({ targetPort: azurite.port });
 * proxy.inject({ match: (request) => request.method === 'POST', action: 'drop-answer' });
 */
export async function startFaultProxy(target: { targetHost?: string; targetPort: number }): Promise<FaultProxy> {
  const upstream = { host: target.targetHost ?? '127.0.0.1', port: target.targetPort };
  const requests: LoggedRequest[] = [];
  const armed: Armed[] = [];
  const stalled = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  const stopping = new AbortController();

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, ms);
      timers.add(timer);
    });

  const pick = (request: ProxiedRequest): Armed | undefined => {
    let picked: Armed | undefined;
    // All of them count, whichever is applied: otherwise one fault would shift the numbering of the next.
    for (const candidate of armed) {
      if (candidate.fault.match !== undefined && !candidate.fault.match(request)) continue;
      candidate.matched += 1;
      const nth = candidate.fault.nth ?? 1;
      if (candidate.matched >= nth && candidate.matched < nth + (candidate.fault.times ?? 1)) picked ??= candidate;
    }
    return picked;
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const socket = incoming.socket;
    const request: ProxiedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: await bytesOf(incoming),
    };
    const amzTarget = incoming.headers['x-amz-target'];
    const logged: LoggedRequest = { method: request.method, path: request.path, ...(typeof amzTarget === 'string' ? { target: amzTarget } : {}) };
    requests.push(logged);

    const chosen = pick(request);
    const action = chosen?.fault.action;
    if (action !== undefined) logged.fault = action;
    const fired = (): void => chosen?.fire(logged);
    const forward = async (): Promise<Answer> => {
      const answer = await send(upstream, incoming, request, stopping.signal);
      logged.status = answer.status;
      return answer;
    };

    if (action === 'drop-request') {
      socket.resetAndDestroy();
      return fired();
    }
    if (typeof action === 'object' && 'status' in action) {
      logged.status = action.status;
      const headers = Object.entries(action.headers ?? {}).flat();
      const body = Buffer.from(action.body ?? '');
      reply(response, { status: action.status, reason: '', rawHeaders: [...headers, 'content-length', String(body.length)], body });
      return fired();
    }
    if (typeof action === 'object' && action.at === 'request') {
      fired();
      await pause(action.delayMs);
    }
    if (action === 'duplicate') await forward();
    const answer = await forward();
    if (typeof action === 'object' && action.at !== 'request') {
      fired();
      await pause(action.delayMs);
    }
    switch (action) {
      case 'drop-answer':
        socket.resetAndDestroy();
        break;
      case 'stall':
        stalled.add(socket);
        socket.once('close', () => stalled.delete(socket));
        break;
      case 'half-answer':
        breakOff(socket, answer);
        break;
      case 'close-after':
        response.once('finish', () => socket.end());
        reply(response, answer);
        break;
      default:
        reply(response, answer);
    }
    if (typeof action === 'string') fired();
  };

  // No limits of our own: a connection must only break where a test asked for it.
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (incoming, response) => {
    // An upstream that is down, and a client that hangs up half-way, look like a broken connection.
    handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;

  const clear = (): void => {
    armed.length = 0;
    requests.length = 0;
    for (const socket of stalled) socket.resetAndDestroy();
    stalled.clear();
  };

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    inject(fault) {
      return { fired: new Promise((fire) => armed.push({ fault, fire, matched: 0 })) };
    },
    count: (match) => (match === undefined ? requests.length : requests.filter(match).length),
    clear,
    async stop() {
      clear();
      for (const timer of timers) clearTimeout(timer);
      stopping.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * One connection for each request: a pooled one that the emulator has just closed would be a fault nobody injected. The headers stay as they
 * were sent, since signatures cover them.
 */
function send(upstream: { host: string; port: number }, incoming: IncomingMessage, request: ProxiedRequest, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = [...without(incoming.rawHeaders, PER_HOP_OF_REQUEST), 'Connection', 'close'];
    const hasBody = request.body.length > 0 || incoming.headers['content-length'] !== undefined;
    if (hasBody) headers.push('Content-Length', String(request.body.length));
    const outgoing = httpRequest({ ...upstream, method: request.method, path: request.path, headers, agent: false, signal });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      bytesOf(answer).then((body) => {
        resolve({ status: answer.statusCode ?? 0, reason: answer.statusMessage ?? '', rawHeaders: answer.rawHeaders, body });
      }, reject);
    });
    outgoing.end(request.body);
  });
}

const PER_HOP_OF_REQUEST: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'expect', 'transfer-encoding', 'content-length']);
const PER_HOP_OF_ANSWER: ReadonlySet<string> = new Set(['connection', 'keep-alive']);

function without(rawHeaders: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    if (!names.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function reply(response: ServerResponse, answer: Answer): void {
  // SDKs learn the server's clock from Date: only upstream's own may get through.
  response.sendDate = false;
  response.writeHead(answer.status, answer.reason, without(answer.rawHeaders, PER_HOP_OF_ANSWER));
  response.end(answer.body);
}

function breakOff(socket: Socket, answer: Answer): void {
  const headers = without(answer.rawHeaders, new Set([...PER_HOP_OF_ANSWER, 'transfer-encoding', 'content-length']));
  const lines = [`HTTP/1.1 ${answer.status} ${answer.reason}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  const head = `${lines.join('\r\n')}\r\nContent-Length: ${answer.body.length}\r\n\r\n`;
  // Without a body there is no half of it: the head itself breaks off.
  const sent =
    answer.body.length > 1 ? Buffer.concat([Buffer.from(head), answer.body.subarray(0, answer.body.length >> 1)]) : head.slice(0, head.length >> 1);
  socket.end(sent, () => socket.destroy());
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
