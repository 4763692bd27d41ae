import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { createClient } from 'redis';
import { describe, expect, it, vi } from 'vitest';
import { redisStore } from '../../../src/stores/redis/index.ts';
import { completed, conflict, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { redisAvailable } from '../../support/redis.ts';
import { CLIENT_KINDS, send } from '../../support/redis-clients.ts';
import { ROW, redisStage } from './redis-stage.ts';

const SOON_MS = 300;

describe.runIf(redisAvailable())('redisStore, when things go wrong', () => {
  const stage = redisStage({ appendOnly: true });
  const timed = async <T>(work: Promise<T>): Promise<{ error: unknown; tookMs: number }> => {
    const startedAt = performance.now();
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { error, tookMs: performance.now() - startedAt };
  };
  const inTime = (tookMs: number): void => expect(tookMs).toBeLessThan(SOON_MS + 2_000);
  const stands = async (id: string): Promise<boolean> => (await stage.ask('EXISTS', ROW(id))) === 1;

  describe.each(CLIENT_KINDS)('with %s', (kind) => {
    it('I10 a server that hangs ends reads as STORE_UNAVAILABLE and writes as WRITE_UNKNOWN, in time; when it goes on later, no late write is carried out', async () => {
      const store = await stage.store(kind, { requestTimeoutMs: SOON_MS });
      const [standing, id] = [freshId(), freshId()];
      const { version } = await put(store, standing, sample());
      stage.server.pause();
      try {
        const [read, create, replace, remove] = await Promise.all([
          timed(store.read(standing)),
          timed(store.create(id, sample())),
          timed(store.replace(standing, completed(), version)),
          timed(store.delete(standing, version)),
        ]);
        expect(read.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
        for (const { error } of [create, replace, remove]) expect(error).toMatchObject({ code: 'WRITE_UNKNOWN' });
        for (const { tookMs } of [read, create, replace, remove]) inTime(tookMs);
        // What is known of the server's clock is as exact as its fastest answer was fast.
        await pause(100);
      } finally {
        stage.server.resume();
      }
      // Behind what was in the socket already.
      expect((await store.read(standing))?.version).toBe(version);
      expect(await store.read(id)).toBeUndefined();
    });

    it('I10 one that goes on within the time that the write had carries it out, though its caller has left', async () => {
      const store = await stage.store(kind, { requestTimeoutMs: 20_000 });
      const id = freshId();
      await store.read(id);
      stage.server.pause();
      try {
        const { error, tookMs } = await timed(store.create(id, sample(), { signal: AbortSignal.timeout(SOON_MS) }));
        expect(error).toMatchObject({ code: 'WRITE_UNKNOWN' });
        inTime(tookMs);
      } finally {
        stage.server.resume();
      }
      expect(await store.read(id)).toBeDefined();
    });

    it('I10 while the server is away nothing is handed to the client: STORE_UNAVAILABLE in time, and nothing is written when it is back', async () => {
      const store = await stage.store(kind, { requestTimeoutMs: SOON_MS });
      const id = freshId();
      await store.read(id);
      await stage.server.kill();
      try {
        await pause(100);
        for (const { error, tookMs } of await Promise.all([timed(store.read(id)), timed(store.create(id, sample()))])) {
          expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
          inTime(tookMs);
        }
      } finally {
        await stage.server.restart();
      }
      await vi.waitFor(() => store.read(freshId()), { timeout: 10_000 });
      expect(await store.read(id)).toBeUndefined();
    });

    it('I3 what was answered stands after a kill -9, where every write is saved', async () => {
      const store = await stage.store(kind);
      const ids = Array.from({ length: 50 }, freshId);
      const receipts = await Promise.all(ids.map((id) => put(store, id, completed())));
      await stage.server.kill();
      await stage.server.restart();
      await vi.waitFor(() => store.read(freshId()), { timeout: 10_000 });
      for (const [at, id] of ids.entries()) expect((await store.read(id))?.version).toBe(receipts[at]?.version);
    });

    it('a full server refuses writes as STORE_UNAVAILABLE, changes nothing, and still answers reads', async () => {
      const [store, id] = [await stage.store(kind), freshId()];
      const { version } = await put(store, id, sample());
      await stage.ask('CONFIG', 'SET', 'maxmemory', '1');
      try {
        for (const write of [store.create(freshId(), sample()), store.replace(id, completed(), version)]) {
          await expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('full') });
        }
        expect(conflict(await store.create(id, sample())).current?.version).toBe(version);
        expect(await store.delete(id, version)).toMatchObject({ ok: true });
      } finally {
        await stage.ask('CONFIG', 'SET', 'maxmemory', '0');
      }
      expect(await stage.ask('DBSIZE')).toBe(0);
    });

    it('a replica and a server that is busy are STORE_UNAVAILABLE: both pass', async () => {
      const store = await stage.store(kind);
      await stage.ask('REPLICAOF', '127.0.0.1', '1');
      try {
        await expect(store.create(freshId(), sample())).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
          message: expect.stringContaining('replica'),
        });
      } finally {
        await stage.ask('REPLICAOF', 'NO', 'ONE');
      }
      await stage.ask('CONFIG', 'SET', 'busy-reply-threshold', '10');
      const other = await stage.client('ioredis');
      const busy = (other as Redis).eval('while true do end', 0).catch(() => {});
      try {
        await pause(50);
        await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await expect(store.create(freshId(), sample())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      } finally {
        await stage.ask('SCRIPT', 'KILL');
        await busy;
      }
    });

    it('something of somebody else under our key, and a user without the rights, are STORE_MISCONFIGURED', async () => {
      const store = await stage.store(kind);
      await stage.ask('SET', ROW('text'), 'not ours');
      for (const call of [store.read('text'), store.create('text', sample()), store.replace('text', sample(), 'v'), store.delete('text', 'v')]) {
        const answer = await call.catch((error: unknown) => error);
        if ((answer as { ok?: boolean }).ok === undefined)
          expect(answer).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('prefix') });
      }
      expect(await stage.ask('GET', ROW('text'))).toBe('not ours');
      await stage.ask('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '+@all', '-hset', '-info');
      const client = await stage.client(kind);
      const limited = redisStore({ client });
      await limited.read('x');
      await send({ client }, 'AUTH', 'limited', 'secret');
      await limited.setUp();
      await expect(limited.create(freshId(), sample())).rejects.toMatchObject({
        code: 'STORE_MISCONFIGURED',
        message: expect.stringContaining('HSET'),
      });
    });

    it('a client that is closed is STORE_UNAVAILABLE at once', async () => {
      const client = await stage.client(kind);
      const store = redisStore({ client });
      await store.read('x');
      if (kind === 'redis') (client as unknown as ReturnType<typeof createClient>).destroy();
      else (client as Redis).disconnect();
      if (kind === 'ioredis') await vi.waitFor(() => expect((client as Redis).status).toBe('end'));
      for (const call of [store.read('x'), store.create(freshId(), sample())])
        await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      if (kind === 'redis') await (client as unknown as ReturnType<typeof createClient>).connect();
    });

    it('I10 the very first write of a caller whose clock is an hour ahead does nothing either when it comes late', async () => {
      const opened = await stage.client(kind);
      await send({ client: opened }, 'PING');
      const store = redisStore({ client: opened, requestTimeoutMs: SOON_MS });
      const id = freshId();
      const now = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 3_600_000);
      stage.server.pause();
      try {
        const { error, tookMs } = await timed(store.create(id, sample()));
        // The time was asked for first: nothing that writes was sent.
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
        inTime(tookMs);
      } finally {
        stage.server.resume();
        now.mockRestore();
      }
      await store.read(freshId());
      expect(await stands(id)).toBe(false);
    });

    it('I10 a caller whose clock is an hour off is put right by the first answer', async () => {
      for (const offMs of [-3_600_000, 3_600_000]) {
        const store = await stage.store(kind);
        const now = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + offMs);
        try {
          const id = freshId();
          expect(await store.create(id, sample())).toMatchObject({ ok: true });
          expect(Math.abs(store.clock.nowMs() - (performance.timeOrigin + performance.now()))).toBeLessThan(60_000);
          expect((await store.read(id))?.ageMs).toBeLessThan(60_000);
        } finally {
          now.mockRestore();
        }
      }
    });
  });

  describe('without a password', () => {
    it('a server that wants one is STORE_MISCONFIGURED at once, before the client is ready or after', async () => {
      const before = await stage.client('redis');
      await stage.ask('CONFIG', 'SET', 'requirepass', 'secret');
      try {
        await (before as unknown as ReturnType<typeof createClient>).sendCommand(['RESET']);
        await expect(redisStore({ client: before }).read('x')).rejects.toMatchObject({
          code: 'STORE_MISCONFIGURED',
          message: expect.stringContaining('password'),
        });
        const after = new Redis(stage.server.url);
        after.on('error', () => {});
        stage.opened({ client: after, close: () => after.disconnect() });
        const store = redisStore({ client: after, requestTimeoutMs: 10_000 });
        const { error, tookMs } = await timed(store.create('x', sample()));
        expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('password') });
        expect(tookMs).toBeLessThan(5_000);
      } finally {
        await stage.ask('CONFIG', 'SET', 'requirepass', '');
      }
    });
  });

  it('I12 many who wait for a connection leave no listener behind', async () => {
    const client = new Redis(stage.server.url, { lazyConnect: true });
    stage.opened({ client, close: () => client.disconnect() });
    const warned = vi.fn();
    process.on('warning', warned);
    const store = redisStore({ client });
    await Promise.all(Array.from({ length: 40 }, () => store.read('x')));
    await pause(10);
    process.removeListener('warning', warned);
    expect(warned).not.toHaveBeenCalled();
    expect([client.listenerCount('ready'), client.listenerCount('end'), client.listenerCount('error')]).toEqual([0, 0, 0]);
    await expect(store.read('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
