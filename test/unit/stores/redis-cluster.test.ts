import { randomUUID } from 'node:crypto';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordStore } from '../../../src/core/ports.ts';
import { runOnce, storeLeases, tryAcquire } from '../../../src/index.ts';
import { commitWith, fencedScript, type RedisClient, redisStore } from '../../../src/stores/redis/index.ts';
import { all, completed, conflict, freshId, freshOperation, put, sample, written } from '../../../src/testing/record-store/subject.ts';
import { redisAvailable } from '../../support/redis.ts';
import { CLIENT_KINDS, type OpenClient, openClient, send } from '../../support/redis-clients.ts';
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts';

describe.runIf(redisAvailable())('a cluster of Redis', () => {
  let cluster: RedisCluster;
  const nodes: OpenClient[] = [];
  beforeAll(async () => {
    cluster = await startRedisCluster();
    for (const { url } of cluster.servers) nodes.push(await openClient('redis', url));
  });
  afterAll(async () => {
    for (const { close } of nodes) close();
    await cluster?.stop();
  });

  describe.each(CLIENT_KINDS)('with %s', (kind) => {
    let client: RedisClient;
    let store: RecordStore;
    let close: () => void;
    beforeAll(async () => {
      if (kind === 'redis') {
        const made = createCluster({ rootNodes: cluster.servers.map(({ url }) => ({ url })) });
        made.on('error', () => {});
        await made.connect();
        [client, close] = [made, () => made.destroy()];
      } else {
        const made = new Cluster(
          cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port })),
          { redisOptions: { keyPrefix: 'theirs:' } },
        );
        made.on('error', () => {});
        [client, close] = [made, () => made.disconnect()];
      }
      store = redisStore({ client, prefix: 'rerunsafe:' });
    });
    afterAll(() => close?.());

    it('without a hash tag records are spread over its servers, written on condition, listed once each and purged', async () => {
      const operation = freshOperation();
      const ids = Array.from({ length: 60 }, freshId);
      const receipts = await Promise.all(ids.map((id) => put(store, id, sample({ operation }))));
      for (const node of nodes) expect(await send(node, 'DBSIZE')).toBeGreaterThan(0);
      for (const [at, id] of ids.entries()) {
        conflict(await store.create(id, sample()));
        written(await store.replace(id, completed({ operation }), receipts[at]?.version as string));
      }
      expect((await all(store, { operation, state: 'completed' })).map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(await store.purge({ operation })).toEqual({ removed: 0 });
      await store.setUp?.();
    });

    it('I1 of many callers at once one runs the work', async () => {
      let runs = 0;
      const key = randomUUID();
      const values = await Promise.all(
        Array.from({ length: 20 }, () => runOnce({ store, operation: 'x', key, onInFlight: { waitMs: 20_000 } }, () => ++runs)),
      );
      expect(values).toEqual(Array.from({ length: 20 }, () => 1));
    });

    it.each([
      ['{rerunsafe}', undefined],
      ['{orders}', '{orders}:rerunsafe:'],
    ])('with the hash tag %s in its prefix, scripts of the caller share a slot with the records', async (tag, prefix) => {
      const tagged = redisStore({ client, ...(prefix === undefined ? {} : { prefix }) });
      const keys = [`stock-${kind}:${tag}`];
      const add = { script: "return redis.call('INCR', KEYS[1])", keys };
      await runOnce({ store: tagged, operation: 'take', key: randomUUID() }, (run) => commitWith(run, undefined, add));
      const got = await tryAcquire(storeLeases(tagged), `nightly-${kind}`, { leaseMs: 30_000, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      expect(await fencedScript(client, got.lease.fence, add, { ...(prefix === undefined ? {} : { prefix }) })).toBe(2);
      await got.lease.release();

      const loose = await tryAcquire(storeLeases(store), `nightly-${kind}`, { leaseMs: 30_000, renew: 'none' });
      if (loose.kind !== 'acquired') throw new Error(loose.kind);
      await expect(fencedScript(client, loose.lease.fence, add, { prefix: 'rerunsafe:' })).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message: expect.stringContaining('hash tag'),
      });
      await loose.lease.release();
    });

    it('a client that knows of no cluster is told so', async () => {
      const single = await openClient(kind, (cluster.servers[0] as { url: string }).url);
      try {
        const lonely = redisStore({ client: single.client, prefix: 'rerunsafe:' });
        const answers = await Promise.all(Array.from({ length: 30 }, () => lonely.create(freshId(), sample()).catch((error: unknown) => error)));
        const refused = answers.filter((answer) => answer instanceof Error);
        expect(refused.length).toBeGreaterThan(0);
        for (const error of refused) expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('cluster client') });
      } finally {
        single.close();
      }
    });
  });
});
