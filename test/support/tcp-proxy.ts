/**
 * The fault proxy for servers that do not speak HTTP. It takes a connection's requests one by one: each is spoiled, or answered in full before the next.
 *
 * @module
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { armory, type FaultProxy, type LoggedRequest } from './faults.ts';

/** Where the first request, or answer, in `bytes` ends; undefined while it is not all there. */
export interface Framing {
  /** `nth`: which request of its connection it is, from 0. */
  endOfRequest(bytes: Buffer, nth: number): number | undefined;
  endOfAnswer(bytes: Buffer): number | undefined;
}

/** Bytes as they arrive, handed out in frames. */
class Frames {
  #bytes = Buffer.alloc(0);
  #wake: () => void = () => {};
  #ended = false;

  constructor(socket: Socket) {
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake();
    });
    socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** What has come of a frame that never ended. */
  get rest(): Buffer {
    return this.#bytes;
  }

  async next(end: (bytes: Buffer) => number | undefined): Promise<Buffer | undefined> {
    for (;;) {
      const at = this.#bytes.length === 0 ? undefined : end(this.#bytes);
      if (at !== undefined) {
        const frame = this.#bytes.subarray(0, at);
        this.#bytes = this.#bytes.subarray(at);
        return frame;
      }
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Starts a proxy on a free loopback port. A request's text is its `body`; `{ status }` is for HTTP alone. */
export async function startTcpFaultProxy(targetPort: number, framing: Framing): Promise<FaultProxy> {
  const faults = armory();
  const open = new Set<Socket>();
  const stalled = new Set<Socket>();
  const stopping = new AbortController();

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      stopping.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });

  const serve = async (client: Socket): Promise<void> => {
    const server = connect({ port: targetPort, host: '127.0.0.1' });
    for (const socket of [client, server]) {
      open.add(socket);
      socket.setNoDelay();
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    }
    // A server that goes down takes its clients' connections with it.
    server.on('close', () => client.end());
    const asked = new Frames(client);
    const answered = new Frames(server);
    for (let nth = 0; ; nth++) {
      const body = await asked.next((bytes) => framing.endOfRequest(bytes, nth));
      if (body === undefined) break;
      const request = { method: '', path: '', headers: {}, body };
      const { action, fired } = faults.meet(request, { method: '', path: '' } satisfies LoggedRequest);
      const forward = (): Promise<Buffer | undefined> => {
        server.write(body);
        return answered.next(framing.endOfAnswer);
      };
      if (action === 'drop-request') {
        client.resetAndDestroy();
        fired();
        break;
      }
      if (typeof action === 'object' && 'delayMs' in action && action.at === 'request') {
        fired();
        await pause(action.delayMs);
      }
      if (action === 'duplicate') await forward();
      const answer = await forward();
      // The server has closed: nothing more comes, but what it said at last.
      if (answer === undefined) {
        client.end(answered.rest);
        break;
      }
      if (typeof action === 'object' && 'delayMs' in action && action.at !== 'request') {
        fired();
        await pause(action.delayMs);
      }
      if (action === 'drop-answer') client.resetAndDestroy();
      else if (action === 'stall') stalled.add(client);
      else if (action === 'half-answer') client.end(answer.subarray(0, answer.length >> 1), () => client.destroy());
      else if (action === 'close-after') client.end(answer);
      else client.write(answer);
      if (typeof action === 'string') fired();
      if (typeof action === 'string' && action !== 'duplicate') break;
    }
    if (!stalled.has(client)) server.destroy();
  };

  const listener = createServer((client) => void serve(client));
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(0, '127.0.0.1', resolve);
  });
  const { port } = listener.address() as AddressInfo;

  const clear = (): void => {
    faults.clear();
    for (const socket of stalled) socket.resetAndDestroy();
    stalled.clear();
  };

  return {
    port,
    url: `tcp://127.0.0.1:${port}`,
    requests: faults.requests,
    inject: faults.inject,
    count: faults.count,
    clear,
    async stop() {
      clear();
      stopping.abort();
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

const SYNC = 0x53;
const SIMPLE_QUERY = 0x51;
const PASSWORD = 0x70;
const TERMINATE = 0x58;
const READY = 0x5a;
const AUTHENTICATION = 0x52;

/** PostgreSQL's protocol 3: messages of a type, a length and a body; a request ends with Sync, an answer with ReadyForQuery. */
export const postgresFraming: Framing = {
  endOfRequest(bytes, nth) {
    // The first one has no type.
    if (nth === 0) return bytes.length >= 4 && bytes.length >= bytes.readInt32BE(0) ? bytes.readInt32BE(0) : undefined;
    return endOfMessages(bytes, (type) => type === SYNC || type === SIMPLE_QUERY || type === PASSWORD || type === TERMINATE);
  },
  // While it signs in, each question about the password waits for its answer.
  endOfAnswer: (bytes) =>
    endOfMessages(bytes, (type, body) => type === READY || (type === AUTHENTICATION && body.readInt32BE(0) !== 0 && body.readInt32BE(0) !== 12)),
};

function endOfMessages(bytes: Buffer, isLast: (type: number, body: Buffer) => boolean): number | undefined {
  for (let at = 0; bytes.length >= at + 5; ) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (bytes.length < end) return undefined;
    if (isLast(bytes.readUInt8(at), bytes.subarray(at + 5, end))) return end;
    at = end;
  }
  return undefined;
}

/** RESP 2 and 3, the protocol of Redis. */
export const redisFraming: Framing = { endOfRequest: (bytes) => endOfValue(bytes, 0), endOfAnswer: (bytes) => endOfValue(bytes, 0) };

function endOfValue(bytes: Buffer, from: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(bytes.readUInt8(from));
  const after = lineEnd + 2;
  const count = Number(bytes.toString('latin1', from + 1, lineEnd));
  if ('$!='.includes(type)) {
    const end = count < 0 ? after : after + count + 2;
    return bytes.length >= end ? end : undefined;
  }
  if (!'*~>%'.includes(type)) return after;
  let at: number | undefined = after;
  for (let n = 0; n < count * (type === '%' ? 2 : 1); n++) {
    at = at === undefined || at >= bytes.length ? undefined : endOfValue(bytes, at);
    if (at === undefined) return undefined;
  }
  return at;
}
