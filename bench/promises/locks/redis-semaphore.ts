/**
 * `redis-semaphore` 5: `Mutex` on one server, `RedlockMutex` on three, as its README sets them up: refreshed by themselves, `acquireAttemptsLimit: 1`
 * ("Example with optional lock"), `onLockLost` of one's own ("Example with lost lock handling"). The identifier is random: nothing that grows.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Mutex, RedlockMutex } from 'redis-semaphore';
import type { Place } from '../protocol.ts';
import type { Locks } from './locks.ts';

export const mutexOnOne = async (place: Place): Promise<Locks> => mutexes(place.redis.slice(0, 1));
export const mutexOnThree = async (place: Place): Promise<Locks> => mutexes(place.redis);

/** Of the lock's time-out: the default. */
const REFRESHED_AFTER = 0.8;

function mutexes(urls: readonly string[]): Locks {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on('error', () => {});
  const resource = clients[0] as Redis;
  return {
    async acquire(name, lockTimeout) {
      const options = { lockTimeout, acquireAttemptsLimit: 1, onLockLost: () => {} };
      const mutex = clients.length === 1 ? new Mutex(resource, name, options) : new RedlockMutex(clients, name, options);
      if (!(await mutex.tryAcquire())) return undefined;
      return {
        token: undefined,
        held: () => mutex.isAcquired,
        write: async (value) => (await resource.set(`resource:${name}`, value)) === 'OK',
        // There is no call for that: it is done by a timer, which tells by `isAcquired`.
        async extend() {
          await pause(lockTimeout * REFRESHED_AFTER + 300);
          return mutex.isAcquired;
        },
        async release() {
          const held = mutex.isAcquired;
          await mutex.release();
          return held;
        },
      };
    },
  };
}
