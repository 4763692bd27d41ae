/**
 * `redlock` 4 over three servers of their own ("Use at least 3 independent servers", README, High-Availability Recommendations), with `retryCount: 0`
 * ("How do I check if something is locked?"). It hands out no token, and its README names none.
 *
 * @module
 */
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import type { Place } from '../protocol.ts';
import type { Locks } from './locks.ts';

export async function redlock(place: Place): Promise<Locks> {
  const clients = place.redis.map((url) => new Redis(url));
  for (const client of clients) client.on('error', () => {});
  const resource = clients[0] as Redis;
  const locks = new Redlock(clients, { retryCount: 0 });
  locks.on('clientError', () => {});
  return {
    async acquire(name, leaseMs) {
      const got = await unlessRefused(locks.lock(`locks:${name}`, leaseMs));
      if (got === undefined) return undefined;
      return {
        token: undefined,
        // It has no call for that. What its own `extend` looks at first, taken in its favour.
        held: () => got.expiration >= Date.now(),
        write: async (value) => (await resource.set(`resource:${name}`, value)) === 'OK',
        extend: async () => (await unlessRefused(got.extend(leaseMs))) !== undefined,
        release: async () => (await unlessRefused(got.unlock().then(() => true))) ?? false,
      };
    },
  };
}

async function unlessRefused<V>(answer: Promise<V>): Promise<V | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Redlock.LockError) return undefined;
    throw error;
  }
}
