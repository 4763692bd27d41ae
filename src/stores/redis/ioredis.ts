/**
 * Clients of the package `ioredis`, 5 and 6. Left alone, they keep commands for a server that is away, without limit, and send what got no answer again.
 *
 * @module
 */
import { type Command, messageOf, Resent, Unsent, type Wire } from './wire.ts';

/** What `new Redis()` and `new Redis.Cluster()` make. */
export interface IoredisClient {
  readonly status: string;
  call(...args: never[]): Promise<unknown>;
}

interface Client {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: unknown };
  call(name: string, args: readonly string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  nodes?(role: 'master'): readonly Client[];
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

export const isIoredis = (value: unknown): value is IoredisClient =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { call?: unknown }).call === 'function' &&
  typeof (value as { status?: unknown }).status === 'string';

export function ioredisWire(given: IoredisClient): Wire {
  const client = given as unknown as Client;
  const keyPrefix = String(client.options?.keyPrefix ?? '');
  if (client.isCluster !== true)
    return { keyPrefix, send: (command, _, signal) => send(client, command, signal), masters: async () => [sender(client)] };
  return {
    keyPrefix,
    send: (command, _, signal) => send(client, command, signal),
    async masters() {
      await connected(client);
      return (client.nodes?.('master') ?? []).map(sender);
    },
  };
}

const sender =
  (client: Client) =>
  (command: Command, signal: AbortSignal): Promise<unknown> =>
    send(client, command, signal);

/** Said of commands that were never written. */
const UNSENT = /enableOfflineQueue options is false|Connection in subscriber mode/;

async function send(client: Client, command: Command, signal: AbortSignal): Promise<unknown> {
  // A command that waits in the client cannot be taken back, and would be carried out whenever the server is there again.
  if (client.status !== 'ready') await unlessAborted(connected(client), signal);
  const [name = '', ...args] = command;
  const closed = closings(client);
  const before = closed.count;
  try {
    // The client finds the keys of commands that it knows, and it knows them in lower case.
    return await client.call(name.toLowerCase(), args);
  } catch (error) {
    if (UNSENT.test(messageOf(error))) throw new Unsent(error);
    throw client.isCluster === true || closed.count !== before ? new Resent(error) : error;
  }
}

const counted = new WeakMap<Client, { count: number }>();

function closings(client: Client): { readonly count: number } {
  const known = counted.get(client);
  if (known !== undefined) return known;
  const closed = { count: 0 };
  client.on('close', () => {
    closed.count += 1;
  });
  counted.set(client, closed);
  return closed;
}

const connecting = new WeakMap<Client, Promise<void>>();

/** One pair of listeners for all who wait. Rejects when the client is closed for good. */
function connected(client: Client): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  const waiting = connecting.get(client);
  if (waiting !== undefined) return waiting;
  const ready = new Promise<void>((resolve, reject) => {
    const over = (): void => {
      client.removeListener('ready', over);
      client.removeListener('end', over);
      connecting.delete(client);
      if (client.status === 'ready') resolve();
      else reject(new Unsent(new Error(`The client is closed (its status is "${client.status}").`)));
    };
    client.once('ready', over);
    client.once('end', over);
    if (client.status === 'end') over();
    // Made to connect at its first command.
    if (client.status === 'wait') client.connect().catch(() => {});
  });
  ready.catch(() => {});
  // Closed for good at once.
  if (client.status !== 'end') connecting.set(client, ready);
  return ready;
}

function unlessAborted(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Unsent(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
