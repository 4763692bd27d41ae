/**
 * Clients of the package `ioredis`, 5 and 6. Left alone, they keep commands for a server that is away, without limit, and send what got no answer again.
 *
 * @module
 */
import { needsPerson } from './map-error.ts';
import { type Command, messageOf, Resent, Unsent, type Wire } from './wire.ts';

/** What `new Redis()` and `new Redis.Cluster()` make. */
export interface IoredisClient {
  readonly status: string;
  call(...args: never[]): Promise<unknown>;
}

interface Client {
  readonly status: string;
  readonly options?: { readonly keyPrefix?: unknown };
  call(name: string, args: readonly string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  /** Of a cluster. */
  nodes?(role: 'master' | 'all'): readonly Client[];
  on(event: string, listener: (what?: unknown) => void): unknown;
  removeListener(event: string, listener: (what?: unknown) => void): unknown;
}

export const isIoredis = (value: unknown): value is IoredisClient =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { call?: unknown }).call === 'function' &&
  typeof (value as { status?: unknown }).status === 'string';

export function ioredisWire(given: IoredisClient): Wire {
  const client = given as unknown as Client;
  const ready = (signal: AbortSignal): Promise<void> => connected(client, signal);
  return {
    keyPrefix: String(client.options?.keyPrefix ?? ''),
    resends: true,
    ready,
    send: (command, _, signal) => send(client, command, signal),
    async masters(signal) {
      if (client.nodes === undefined) return [sender(client)];
      await ready(signal);
      return client.nodes('master').map(sender);
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
  await connected(client, signal);
  const [name = '', ...args] = command;
  const closed = closings(client);
  const before = closed.count;
  try {
    // The client finds the keys of commands that it knows, and it knows them in lower case.
    return await client.call(name.toLowerCase(), args);
  } catch (error) {
    if (UNSENT.test(messageOf(error))) throw new Unsent(error);
    throw closed.count !== before ? new Resent(error) : error;
  }
}

/** How often a connection was lost: that is when what got no answer is sent again. */
const counted = new WeakMap<Client, { count: number }>();

function closings(client: Client): { readonly count: number } {
  const known = counted.get(client);
  if (known !== undefined) return known;
  const closed = { count: 0 };
  const count = (connection: Client): unknown =>
    connection.on('close', () => {
      closed.count += 1;
    });
  if (client.nodes === undefined) count(client);
  else {
    client.nodes('all').forEach(count);
    client.on('+node', (node) => count(node as Client));
  }
  counted.set(client, closed);
  return closed;
}

const connecting = new WeakMap<Client, Connecting>();

interface Connecting {
  readonly ready: Promise<void>;
  /** What the client has met meanwhile: to those who wait it says more than that their time is over. */
  readonly met: { error?: unknown };
}

/** One set of listeners for all who wait. Rejects when the client is closed for good, or refused in a way that does not pass. */
function connection(client: Client): Connecting {
  const waiting = connecting.get(client);
  if (waiting !== undefined) return waiting;
  const met: { error?: unknown } = {};
  const ready = new Promise<void>((resolve, reject) => {
    const over = (settle: () => void): void => {
      for (const [event, listener] of listeners) client.removeListener(event, listener);
      connecting.delete(client);
      settle();
    };
    const onReady = (): void => over(resolve);
    const onEnd = (): void => over(() => reject(new Unsent(met.error ?? new Error('The client is closed.'))));
    const onError = (error: unknown): void => {
      met.error = error;
      if (needsPerson(error)) over(() => reject(error));
    };
    const listeners: readonly (readonly [string, (error?: unknown) => void])[] = [
      ['ready', onReady],
      ['end', onEnd],
      ['error', onError],
    ];
    for (const [event, listener] of listeners) client.on(event, listener);
  });
  ready.catch(() => {});
  const made = { ready, met };
  connecting.set(client, made);
  return made;
}

async function connected(client: Client, signal: AbortSignal): Promise<void> {
  if (client.status === 'ready') return;
  if (client.status === 'end') throw new Unsent(new Error('The client is closed.'));
  const { ready, met } = connection(client);
  // Made to connect at its first command.
  if (client.status === 'wait') client.connect().catch(() => {});
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(new Unsent(met.error ?? signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    ready.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
