/**
 * Clients of the package `redis`, 5 and 6. They send nothing twice, and take back what has not left yet.
 *
 * @module
 */
import { type Command, messageOf, Unsent, type Wire } from './wire.ts';

/** What `createClient`, `createClientPool`, `createCluster` and `createSentinel` make. */
export interface NodeRedisClient {
  sendCommand(...args: never[]): Promise<unknown>;
}

interface Options {
  readonly abortSignal: AbortSignal;
  readonly typeMapping: Readonly<Record<never, never>>;
}
type Plain = { sendCommand(command: Command, options: Options): Promise<unknown> };
type Sentinel = { sendCommand(isReadonly: boolean, command: Command, options: Options): Promise<unknown> };
type Cluster = {
  sendCommand(firstKey: string, isReadonly: boolean, command: Command, options: Options): Promise<unknown>;
  readonly masters: readonly unknown[];
  nodeClient(node: unknown): Plain | Promise<Plain>;
};

const offers = (value: unknown, method: string): boolean =>
  typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[method] === 'function';

export const isNodeRedis = (value: unknown): value is NodeRedisClient => offers(value, 'sendCommand');
const isCluster = (client: unknown): client is Cluster => offers(client, 'nodeClient');
const isSentinel = (client: unknown): client is Sentinel => offers(client, 'getMasterNode');

export function nodeRedisWire(client: NodeRedisClient): Wire {
  const unknown: unknown = client;
  if (isCluster(unknown)) {
    const cluster = unknown;
    return {
      keyPrefix: '',
      resends: false,
      ready,
      send: (command, key, signal) => sent(() => cluster.sendCommand(key, false, command, optionsOf(signal))),
      async masters() {
        const nodes = await sent(() => Promise.all(cluster.masters.map((node) => cluster.nodeClient(node))));
        return nodes.map((node) => (command, signal) => sent(() => node.sendCommand(command, optionsOf(signal))));
      },
    };
  }
  const send = (command: Command, signal: AbortSignal): Promise<unknown> =>
    sent(() =>
      isSentinel(unknown) ? unknown.sendCommand(false, command, optionsOf(signal)) : (unknown as Plain).sendCommand(command, optionsOf(signal)),
    );
  return { keyPrefix: '', resends: false, ready, send: (command, _, signal) => send(command, signal), masters: async () => [send] };
}

/** It takes back what waits for a connection. */
const ready = async (): Promise<void> => {};

/** Whatever the caller's client makes of replies for its own commands, ours want text. */
const optionsOf = (abortSignal: AbortSignal): Options => ({ abortSignal, typeMapping: {} });

/** Said before a command is written, or when it is taken back. None of these has a code. */
const UNSENT = /^(The command was aborted|The client is (closed|offline)|The queue is full|Timeout waiting for a client|All the root nodes are)/;

async function sent<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // Commands on a connection that breaks are given its error; those that wait for the next one are given the error of that.
    const connecting = (error as { syscall?: unknown } | null)?.syscall === 'connect';
    throw connecting || UNSENT.test(messageOf(error)) ? new Unsent(error) : error;
  }
}
