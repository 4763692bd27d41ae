/**
 * Leases of ours, `redlock` and `redis-semaphore` on one server, all by ioredis, as their READMEs set them up: one try, no waiting.
 *
 * @module
 */
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import Redlock from 'redlock';
import { redisStore } from 'rerunsafe/redis';
import { counterOf } from '../meter.ts';
import type { RedisService } from '../redis.ts';
import { leases } from './leases.ts';
import { LOCK_MS, type LockContender, type LockService, type Locks } from './lock.ts';

const redlock = (client: Redis): Locks => {
  const locks = new Redlock([client], { retryCount: 0 });
  return {
    name: 'redlock',
    async acquire(name) {
      try {
        const lock = await locks.lock(`locks:${name}`, LOCK_MS);
        return () => lock.unlock();
      } catch (error) {
        if (error instanceof Redlock.LockError) return undefined;
        throw error;
      }
    },
  };
};

const semaphore = (client: Redis): Locks => ({
  name: 'redis-semaphore',
  async acquire(name) {
    const mutex = new Mutex(client, name, { lockTimeout: LOCK_MS, acquireAttemptsLimit: 1 });
    return (await mutex.tryAcquire()) ? () => mutex.release() : undefined;
  },
});

export async function redisLocks({ server, counted }: RedisService): Promise<LockService & { stop(): void }> {
  const clients: Redis[] = [];
  const open = (url: string): Redis => {
    const client = new Redis(url);
    clients.push(client);
    return client;
  };
  const contender = async (make: (client: Redis) => Locks): Promise<LockContender> => {
    const its = make(open(counted.url));
    const release = await its.acquire('before');
    await release?.();
    return { locks: make(open(server.url)), counted: its, meter: counterOf(counted.count) };
  };
  const contenders = [await contender((client) => leases(redisStore({ client }))), await contender(redlock), await contender(semaphore)];
  return {
    name: 'Redis',
    contenders,
    rounds: 40,
    times: 50,
    stop() {
      for (const client of clients) client.disconnect();
    },
  };
}
