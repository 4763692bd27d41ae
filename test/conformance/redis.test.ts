import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { leaseProviderConformance, recordStoreConformance } from '../../src/testing/index.ts';
import { type RedisServer, redisAvailable, startRedis } from '../support/redis.ts';
import { agedStore, CLIENT_KINDS, type OpenClient, openClient } from '../support/redis-clients.ts';

const PREFIX = '{conformance *?[^a]}:';

describe.runIf(redisAvailable()).each([
  { appendOnly: false, saved: 'nothing is saved' },
  { appendOnly: true, saved: 'every write is saved' },
])('Redis, where $saved', ({ appendOnly, saved }) => {
  let server: RedisServer;
  const opened: OpenClient[] = [];
  const named = new Map<string, RecordStore>();
  const aged = new Map<string, ReturnType<typeof agedStore>>();
  const agedOf = (kind: string): ReturnType<typeof agedStore> => aged.get(kind) as ReturnType<typeof agedStore>;

  beforeAll(async () => {
    server = await startRedis({ appendOnly });
    for (const kind of CLIENT_KINDS) {
      const client = await openClient(kind, server.url);
      opened.push(client);
      aged.set(kind, agedStore(client, `${kind}:`));
    }
    const withPrefix = await openClient('ioredis', server.url, { keyPrefix: 'of*ours?:' });
    opened.push(withPrefix);
    named.set('redis', redisStore({ client: (opened[0] as OpenClient).client }));
    named.set('prefixes', redisStore({ client: withPrefix.client, prefix: PREFIX }));
    for (const store of named.values()) await store.setUp?.();
  });
  afterAll(async () => {
    for (const { close } of opened) close();
    await server?.stop();
  });

  for (const kind of CLIENT_KINDS) {
    recordStoreConformance({
      name: `${kind}, where ${saved}`,
      describe,
      it,
      createStore: async () => agedOf(kind),
      concurrency: { racers: 64 },
    });
    leaseProviderConformance({
      name: `storeLeases, ${kind}, where ${saved}`,
      describe,
      it,
      leaseMs: 30_000,
      createLeases: async () => ({ leases: storeLeases(agedOf(kind).store), advance: agedOf(kind).advance }),
    });
  }
  // What is about age waits, in real time, at the same time.
  recordStoreConformance({
    name: `ioredis with a key prefix of its own, and signs of patterns in ours, in real time, where ${saved}`,
    describe: describe.concurrent,
    it,
    createStore: async () => ({ store: named.get('prefixes') as RecordStore }),
  });
  leaseProviderConformance({
    name: `storeLeases, redis, in real time, where ${saved}`,
    describe: describe.concurrent,
    it,
    leaseMs: 2_000,
    createLeases: async () => ({ leases: storeLeases(named.get('redis') as RecordStore) }),
  });
});
