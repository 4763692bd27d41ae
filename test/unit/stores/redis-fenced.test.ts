import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Fence, LeaseProvider, RecordStore } from '../../../src/core/ports.ts';
import { type Run, runOnce, storeLeases, tryAcquire, tryRunOnce } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/memory/index.ts';
import { commitWith, fencedScript, type RedisClient, redisStore } from '../../../src/stores/redis/index.ts';
import { redisAvailable } from '../../support/redis.ts';
import { CLIENT_KINDS } from '../../support/redis-clients.ts';
import { redisStage } from './redis-stage.ts';

const LONG_MS = 60_000;
const set = (value: string) => ({ script: "return redis.call('SET', KEYS[1], ARGV[1])", keys: ['report'], arguments: [value] });

describe.runIf(redisAvailable()).each(CLIENT_KINDS)('scripts of the caller on Redis, by %s', (kind) => {
  const stage = redisStage();
  let client: RedisClient;
  let store: RecordStore;
  let leases: LeaseProvider;
  beforeEach(async () => {
    client = await stage.client(kind);
    store = redisStore({ client });
    leases = storeLeases(store);
  });
  const report = () => stage.ask('GET', 'report');
  const taken = async (leaseMs = LONG_MS) => {
    const got = await tryAcquire(leases, 'nightly', { leaseMs, renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(`the lease is ${got.kind}`);
    return got.lease;
  };

  describe('fencedScript', () => {
    it('the holder of a lease, or of a record, runs its script and gets what that returned', async () => {
      const lease = await taken();
      expect(await fencedScript(client, lease.fence, set('7'))).toBe('OK');
      expect(await report()).toBe('7');
      const script = 'return {#KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1], ARGV[2]}';
      const answer = await fencedScript(client, lease.fence, { script, keys: ['a', 'b'], arguments: ['ä', 1_767_225_600_123] });
      expect(answer).toEqual([2, 'a', 'b', 2, 'ä', '1767225600123']);
      expect(await fencedScript(client, lease.fence, { script: '-- nothing' })).toBeNull();
      const counted = await runOnce({ store, operation: 'x', key: 'k' }, (run) =>
        fencedScript(client, run.fence as Fence, { script: "return redis.call('INCR', KEYS[1])", keys: ['n'] }),
      );
      expect(counted).toBe(1);
    });

    it('I4 whoever was overtaken is refused with both tokens, and nothing of its script is run', async () => {
      const first = await taken();
      await leases.break('nightly');
      await expect(fencedScript(client, first.fence, set('stale'))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      const second = await taken();
      await expect(fencedScript(client, first.fence, set('stale'))).rejects.toMatchObject({
        code: 'STALE_TOKEN',
        retryable: false,
        facts: { id: 'nightly', token: first.token, storedToken: second.token },
      });
      // Neither the right token of another owner, nor the right owner with another token.
      for (const fence of [
        { ...second.fence, owner: first.fence.owner },
        { ...second.fence, token: first.token },
      ]) {
        await expect(fencedScript(client, fence, set('stale'))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      }
      expect(await report()).toBeNull();
    });

    it('I4 one that was held up past the end of its lease still writes while nobody has taken it, and never after', async () => {
      const first = await taken(100);
      await pause(150);
      await fencedScript(client, first.fence, set('late, and alone'));
      await taken();
      await expect(fencedScript(client, first.fence, set('too late'))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await report()).toBe('late, and alone');
    });

    it('I10 a script that the server gets to after its caller has given up does nothing', async () => {
      const lease = await taken();
      stage.server.pause();
      try {
        await expect(fencedScript(client, lease.fence, set('ghost'), { requestTimeoutMs: 200 })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
        // What is known of the server's clock is as exact as its fastest answer was fast.
        await pause(100);
      } finally {
        stage.server.resume();
      }
      await store.read('x');
      expect(await report()).toBeNull();
    });

    it('a fence that nothing is kept under is STORE_MISCONFIGURED, and wrong arguments are INVALID_OPTIONS', async () => {
      const lease = await taken();
      await expect(fencedScript(client, lease.fence, set('x'), { prefix: 'other:' })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      const invalid = { code: 'INVALID_OPTIONS' };
      await expect(fencedScript({} as never, lease.fence, set('x'))).rejects.toMatchObject(invalid);
      await expect(fencedScript(client, { id: 'x' } as never, set('x'))).rejects.toMatchObject(invalid);
      for (const work of [
        {},
        { script: '' },
        { script: '#!lua name=x' },
        { script: 'x', keys: 'k' },
        { script: 'x', arguments: [{}] },
        { script: 'x', args: [] },
      ])
        await expect(fencedScript(client, lease.fence, work as never)).rejects.toMatchObject(invalid);
      await expect(fencedScript(client, lease.fence, set('x'), { prefx: '' } as never)).rejects.toMatchObject(invalid);
      expect(await report()).toBeNull();
    });

    it('what a script fails with, or returns as an error, is an Error with that text', async () => {
      const lease = await taken();
      const failing = (script: string) => fencedScript(client, lease.fence, { script, keys: ['report'] }).catch((error: unknown) => error);
      expect(await failing("return redis.error_reply('OUT_OF_STOCK none left')")).toMatchObject({ message: 'OUT_OF_STOCK none left' });
      expect(await failing("return redis.error_reply('none left')")).toMatchObject({ message: expect.stringContaining('none left') });
      for (const script of ["error('no')", 'no lua at all', "redis.call('LPUSH', KEYS[1], 1) return redis.call('INCR', KEYS[1])"]) {
        const error = await failing(script);
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toHaveProperty('retryable');
      }
    });
  });

  describe('commitWith', () => {
    const options = (key = randomUUID()) => ({ store, operation: 'orders/take', key, leaseMs: LONG_MS });
    const add = { script: "return redis.call('INCRBY', KEYS[1], ARGV[1])", keys: ['report'], arguments: [5] };

    it('I1 the outcome and what the script wrote stand together, once, and a later call replays', async () => {
      const call = options();
      const take = async (run: Run<unknown>) => {
        await commitWith(run, { taken: 5 }, add);
        return { taken: 5 };
      };
      expect(await runOnce(call, take)).toEqual({ taken: 5 });
      expect(await runOnce(call, take)).toEqual({ taken: 5 });
      expect(await report()).toBe('5');
    });

    it('I3 what the work does after the commit changes nothing', async () => {
      const call = options();
      await runOnce(call, async (run: Run<unknown>) => {
        await commitWith(run, 'kept', add);
        throw new Error('too late to matter');
      }).catch(() => {});
      expect(await runOnce(call, () => 'again')).toBe('kept');
      expect(await report()).toBe('5');
    });

    it('I4 whoever was overtaken commits nothing of its own', async () => {
      const call = options();
      const outcome = await tryRunOnce(call, async (run) => {
        for (const key of (await stage.ask('KEYS', '{rerunsafe}:*')) as string[])
          await stage.ask('HSET', key, 'owner', 'somebody', 'revision', 'theirs');
        await commitWith(run, 1, add);
        return 1;
      }).catch((error: unknown) => error);
      expect(outcome).toMatchObject({ code: 'LEASE_LOST' });
      expect(await report()).toBeNull();
    });

    it('I8 a script that refuses leaves the record as it was, and the run goes on', async () => {
      const call = options();
      const refused = { script: "return redis.error_reply('OUT_OF_STOCK none left')" };
      const value = await runOnce<unknown>(call, async (run) => {
        const error = await commitWith(run, 'taken', refused).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ message: 'OUT_OF_STOCK none left' });
        await commitWith(run, 'something else', add);
        return 'something else';
      });
      expect(value).toBe('something else');
      expect(await runOnce(call, () => 'again')).toBe('something else');
      expect(await report()).toBe('5');
    });

    it('a value that is too large is left out, and the rest is committed', async () => {
      const small = redisStore({ client, maxRecordBytes: 2_000 });
      const call = { ...options(), store: small };
      const large = randomBytes(5_000).toString('base64');
      await runOnce(call, async (run) => {
        await commitWith(run, large, add);
        return large;
      });
      await expect(runOnce(call, () => large)).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
      expect(await report()).toBe('5');
    });

    it('another store, messages for an outbox and a signal that has aborted write nothing', async () => {
      const inside = <T>(work: (run: Run<unknown>) => Promise<T>, on: RecordStore = store) =>
        runOnce({ ...options(), store: on }, async (run) => {
          const error = await work(run as Run<unknown>).catch((thrown: unknown) => thrown);
          return String((error as { code?: string; name?: string }).code ?? (error as Error).name);
        });
      expect(await inside((run) => commitWith(run, 1, add), memoryStore())).toBe('INVALID_OPTIONS');
      expect(await inside((run) => commitWith(run, 1, { script: '' }))).toBe('INVALID_OPTIONS');
      expect(await inside((run) => commitWith(run, 1, add, { signal: AbortSignal.abort() }))).toBeDefined();
      expect(await report()).toBeNull();
    });
  });
});
