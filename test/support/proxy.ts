/**
 * A proxy that stands between a real SDK and a real emulator and spoils chosen requests, as networks do.
 *
 * @module
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { armory, type FaultProxy, type LoggedRequest, type ProxiedRequest } from './faults.ts';

export type { FaultAction, FaultProxy, LoggedRequest, ProxiedRequest } from './faults.ts';

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: string[];
  readonly body: Buffer;
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
  const faults = armory();
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
    const { action, fired } = faults.meet(request, logged);
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
    faults.clear();
    for (const socket of stalled) socket.resetAndDestroy();
    stalled.clear();
  };

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests: faults.requests,
    inject: faults.inject,
    count: faults.count,
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
async function send(upstream: Upstream, incoming: IncomingMessage, request: ProxiedRequest, signal: AbortSignal): Promise<Answer> {
  try {
    return await sendOnce(upstream, incoming, request, signal);
  } catch (error) {
    // A busy emulator that drops a new connection would be a fault nobody injected, too. To read again changes nothing.
    if (request.method !== 'GET' || signal.aborted || (error as { code?: unknown }).code !== 'ECONNRESET') throw error;
    return sendOnce(upstream, incoming, request, signal);
  }
}

interface Upstream {
  readonly host: string;
  readonly port: number;
}

function sendOnce(upstream: Upstream, incoming: IncomingMessage, request: ProxiedRequest, signal: AbortSignal): Promise<Answer> {
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
