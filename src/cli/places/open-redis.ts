/**
 * A client of Redis that connects with its first command: of the package `redis` or, where only that is installed, of `ioredis`.
 *
 * @module
 */
import { loadPackage } from '../../core/load-package.ts';
import type { RedisClient } from '../../stores/redis/client.ts';

export interface OpenRedis {
  readonly client: RedisClient;
  close(): void;
}

const CONNECT_LIMIT_MS = 4_000;
/** Before anything was reached; afterwards a command that runs for an hour is worth any number. */
const FIRST_TRIES = 3;
const LONGEST_PAUSE_MS = 2_000;
const pauseMs = (tries: number): number => Math.min(LONGEST_PAUSE_MS, 100 * 2 ** Math.min(tries, 10));

/** @throws RerunSafeError `STORE_MISCONFIGURED` where neither package is installed. */
export async function openRedis(url: string): Promise<OpenRedis> {
  const redis = await import('redis').catch(() => undefined);
  if (redis !== undefined) return nodeRedis(redis, url);
  const ioredis = await import('ioredis').catch(() => undefined);
  if (ioredis !== undefined) return ioRedis(ioredis, url);
  return nodeRedis(await loadPackage('redis', () => import('redis')), url);
}

/** The parts that are used here; each client has its own types for the rest. */
interface Connecting {
  connect(): Promise<unknown>;
  sendCommand(...args: readonly unknown[]): Promise<unknown>;
}

function nodeRedis({ createClient }: typeof import('redis'), url: string): OpenRedis {
  let reached = false;
  const reconnectStrategy = (tries: number, cause: Error): number | Error =>
    reached || (tries < FIRST_TRIES && isOfNetwork(cause)) ? pauseMs(tries) : firstOf(cause);
  const client = createClient({ url, socket: { connectTimeout: CONNECT_LIMIT_MS, reconnectStrategy } });
  client.on('ready', () => {
    reached = true;
  });
  // Whoever waits for a command is told; an event that nobody hears would end the process.
  client.on('error', () => {});
  const connecting: Connecting = client as never;
  let connected: Promise<unknown> | undefined;
  const connect = (): Promise<unknown> => {
    connected ??= connecting.connect().catch((error: unknown) => {
      connected = undefined;
      throw firstOf(error);
    });
    return connected;
  };
  const late = {
    async sendCommand(...args: readonly unknown[]): Promise<unknown> {
      await connect();
      return connecting.sendCommand(...args);
    },
  };
  return { client: late as RedisClient, close: () => client.destroy() };
}

function ioRedis({ Redis }: Pick<typeof import('ioredis'), 'Redis'>, url: string): OpenRedis {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: CONNECT_LIMIT_MS, maxRetriesPerRequest: null, retryStrategy: pauseMs });
  client.on('error', (error: { command?: unknown }) => {
    // It is that of the AUTH that was refused, with the password in it.
    delete error.command;
  });
  return { client, close: () => client.disconnect() };
}

/** A server that has answered, if only with a refusal, answers the same the next time. */
const isOfNetwork = (error: unknown): boolean => (firstOf(error) as { code?: unknown }).code !== undefined;

/** Of a name with several addresses: all were tried, and the error of all of them has no words of its own. */
const firstOf = (error: unknown): Error => (error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : (error as Error));
