/**
 * Both clients of Redis, as their users make them, and a store whose rows can be made older.
 *
 * @module
 */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts';

export interface OpenClient {
  readonly client: RedisClient;
  close(): void;
}

export type ClientKind = 'redis' | 'ioredis';
export const CLIENT_KINDS: readonly ClientKind[] = ['redis', 'ioredis'];

/** It connects by itself; what is sent meanwhile waits. */
export function lateClient(kind: ClientKind, url: string, settings: { keyPrefix?: string } = {}): OpenClient {
  if (kind === 'redis') {
    const client = createClient({ url, socket: { reconnectStrategy: 50 } });
    // A server that is stopped by a test.
    client.on('error', () => {});
    client.connect().catch(() => {});
    return { client, close: () => client.destroy() };
  }
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null, ...settings });
  client.on('error', () => {});
  return { client, close: () => client.disconnect() };
}

/** `settings`: of ioredis only. */
export async function openClient(kind: ClientKind, url: string, settings: { keyPrefix?: string } = {}): Promise<OpenClient> {
  const opened = lateClient(kind, url, settings);
  await send(opened, 'PING');
  return opened;
}

/** Sends a plain command, whichever client it is. */
export function send({ client }: Pick<OpenClient, 'client'>, ...command: string[]): Promise<unknown> {
  if ('call' in client) return (client as Redis).call(command[0] as string, command.slice(1));
  return (client as unknown as { sendCommand(command: string[]): Promise<unknown> }).sendCommand(command);
}

/** What passes in real time while a case believes it has moved the clock; less than the 3 s that cases allow for services that tell whole seconds. */
const REAL_MS = 2_500;
const AGE = `for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('HINCRBY', key, 'writtenAtMs', ARGV[2]) end`;

/** Time cannot be moved on the server, but its rows can be made older, and the store be looked at from later on. `prefix` has no signs of patterns. */
export function agedStore(opened: OpenClient, prefix: string): { store: RecordStore; advance(ms: number): Promise<void> } {
  const store = redisStore({ client: opened.client, prefix, uncertaintyMs: REAL_MS });
  let laterMs = 0;
  const later = <S extends Stored>(stored: S): S => ({
    ...stored,
    record: { ...stored.record, writtenAtMs: stored.record.writtenAtMs + laterMs },
  });
  const told = <R extends WriteResult>(result: R): R =>
    !result.ok && result.reason === 'conflict' && result.current !== undefined ? { ...result, current: later(result.current) } : result;
  return {
    store: {
      ...store,
      clock: { ...store.clock, nowMs: () => store.clock.nowMs() + laterMs },
      read: async (...args) => {
        const found = await store.read(...args);
        return found && later(found);
      },
      create: async (...args) => told(await store.create(...args)),
      replace: async (...args) => told(await store.replace(...args)),
      delete: async (...args) => told(await store.delete(...args)),
      async *list(query) {
        for await (const listed of store.list(query)) yield later(listed);
      },
    },
    async advance(ms) {
      laterMs += ms;
      await send(opened, 'EVAL', AGE, '0', `${prefix}*`, String(-ms));
    },
  };
}
