/**
 * One server for the tests of a file, emptied before each, and clients of both kinds that are closed afterwards.
 *
 * @module
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { PlainStore } from '../../../src/core/ports.ts';
import { type RedisClient, type RedisStoreOptions, redisStore } from '../../../src/stores/redis/index.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../../support/redis.ts';
import { type ClientKind, type OpenClient, openClient, send } from '../../support/redis-clients.ts';

export interface RedisStage {
  readonly server: RedisServer;
  /** Never through a store. */
  ask(...command: string[]): Promise<unknown>;
  client(kind: ClientKind, url?: string): Promise<RedisClient>;
  store(kind?: ClientKind, options?: Partial<RedisStoreOptions>): Promise<PlainStore>;
  /** Closed after the test. */
  opened<T extends OpenClient>(one: T): T;
}

/** Registers hooks: call it inside `describe`. */
export function redisStage(options: RedisOptions = {}): RedisStage {
  let server: RedisServer;
  let own: OpenClient;
  const open: OpenClient[] = [];
  beforeAll(async () => {
    server = await startRedis(options);
    own = await openClient('redis', server.url);
  });
  beforeEach(async () => {
    await send(own, 'FLUSHALL');
  });
  afterEach(() => {
    for (const { close } of open.splice(0)) close();
  });
  afterAll(async () => {
    own?.close();
    await server?.stop();
  });
  const stage: RedisStage = {
    get server() {
      return server;
    },
    ask: (...command) => send(own, ...command),
    client: async (kind, url = server.url) => stage.opened(await openClient(kind, url)).client,
    store: async (kind = 'redis', more = {}) => redisStore({ client: more.client ?? (await stage.client(kind)), ...more }),
    opened(one) {
      open.push(one);
      return one;
    },
  };
  return stage;
}

export const ROW = (id: string): string => `{rerunsafe}:${id}`;
