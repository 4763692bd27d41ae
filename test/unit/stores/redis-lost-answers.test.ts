import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, it, vi } from 'vitest';
import { runOnce, storeLeases, tryAcquire } from '../../../src/index.ts';
import { commitWith, fencedScript, redisStore } from '../../../src/stores/redis/index.ts';
import { completed, conflict, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { redisAvailable } from '../../support/redis.ts';
import type { ClientKind } from '../../support/redis-clients.ts';
import { redisFraming, startTcpFaultProxy } from '../../support/tcp-proxy.ts';
import { ROW, redisStage } from './redis-stage.ts';

describe.runIf(redisAvailable())('redisStore, when answers are lost on the way', () => {
  const stage = redisStage();
  const stands = async (id: string): Promise<boolean> => (await stage.ask('EXISTS', ROW(id))) === 1;
  const through = async (kind: ClientKind, retryMs: number) => {
    const proxy = await startTcpFaultProxy(stage.server.port, redisFraming);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const client =
      kind === 'redis' ? createClient({ url, socket: { reconnectStrategy: retryMs } }) : new Redis(url, { retryStrategy: () => retryMs });
    client.on('error', () => {});
    if (client instanceof Redis === false) await client.connect();
    const closing = client;
    stage.opened({ client, close: () => (closing instanceof Redis ? closing.disconnect() : closing.destroy()) });
    return { proxy, client, store: redisStore({ client, requestTimeoutMs: 1_000 }) };
  };
  const isScript = ({ body }: { body: Buffer }): boolean => /evalsha/i.test(body.toString());

  it('I7 redis sends nothing twice: the write is WRITE_UNKNOWN, and found by its revision', async () => {
    const { proxy, store } = await through('redis', 20);
    const [id, record] = [freshId(), sample()];
    await put(store, freshId(), sample());
    proxy.inject({ match: isScript, action: 'drop-answer' });
    await expect(store.create(id, record)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect((await store.read(id))?.record.revision).toBe(record.revision);
    await proxy.stop();
  });

  it('I7 ioredis sends it again: the second copy is answered with what the first has written', async () => {
    const { proxy, store } = await through('ioredis', 20);
    const [id, record] = [freshId(), sample()];
    await put(store, freshId(), sample());
    proxy.inject({ match: isScript, action: 'drop-answer' });
    const created = conflict(await store.create(id, record)).current;
    expect(created?.record.revision).toBe(record.revision);
    const { version } = created as NonNullable<typeof created>;
    proxy.inject({ match: isScript, action: 'drop-answer' });
    const next = completed();
    expect(conflict(await store.replace(id, next, version)).current?.record.revision).toBe(next.revision);
    expect((await store.read(id))?.version).toBe(next.revision);
    await proxy.stop();
  });

  it("I7 a caller's own script is run once, though ioredis sends it twice: fencedScript says WRITE_UNKNOWN, commitWith commits", async () => {
    const { proxy, client, store } = await through('ioredis', 20);
    const add = { script: "return redis.call('INCR', KEYS[1])", keys: ['n'] };
    const got = await tryAcquire(storeLeases(store), 'nightly', { leaseMs: 60_000, renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    expect(await fencedScript(client, got.lease.fence, add)).toBe(1);
    proxy.inject({ match: isScript, action: 'drop-answer' });
    await expect(fencedScript(client, got.lease.fence, add)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(await stage.ask('GET', 'n')).toBe('2');
    const done = await runOnce({ store, operation: 'take', key: 'k' }, async (run) => {
      await commitWith(run, 'kept', add);
      return 'left out';
    });
    expect(done).toBe('kept');
    await runOnce({ store, operation: 'take', key: 'other' }, async (run) => {
      proxy.inject({ match: (request) => isScript(request) && request.body.includes('\r\ncommit\r\n'), action: 'drop-answer' });
      await commitWith(run, 'once', add);
    });
    expect(await stage.ask('GET', 'n')).toBe('4');
    expect(await runOnce({ store, operation: 'take', key: 'other' }, () => 'again')).toBe('once');
    await proxy.stop();
  });

  it('I10 what ioredis sends again after its caller has given up does nothing', async () => {
    const { proxy, store } = await through('ioredis', 1_500);
    const [id, before] = [freshId(), freshId()];
    await put(store, before, sample());
    proxy.inject({ match: isScript, action: 'drop-request' });
    await expect(store.create(id, sample())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    const sentBefore = proxy.count();
    await vi.waitFor(() => expect(proxy.requests.length).toBeGreaterThan(sentBefore), { timeout: 5_000 });
    await vi.waitFor(() => store.read(before), { timeout: 5_000 });
    expect(await stands(id)).toBe(false);
    await proxy.stop();
  });

  it('I8 an error that answers the second copy says nothing of the first: WRITE_UNKNOWN', async () => {
    const { proxy, store } = await through('ioredis', 200);
    const id = freshId();
    await put(store, freshId(), sample());
    const { fired } = proxy.inject({ match: isScript, action: 'drop-answer' });
    const writing = store.create(id, sample());
    await fired;
    await stage.ask('ACL', 'SETUSER', 'default', '-evalsha');
    try {
      await expect(writing).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect(await stands(id)).toBe(true);
      await expect(store.read(id)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    } finally {
      await stage.ask('ACL', 'SETUSER', 'default', '+@all');
    }
    await proxy.stop();
  });
});
