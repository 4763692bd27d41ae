/**
 * Named leases of rerunsafe over a store, and fenced writes (docs/leases.md, docs/redis.md).
 *
 * @module
 */
import { type Fence, isRerunSafeError, type RecordStore, storeLeases, tryAcquire } from '../../../src/index.ts';
import { dynamodbStore, fencedPut } from '../../../src/stores/dynamodb/index.ts';
import { fencedScript, redisStore } from '../../../src/stores/redis/index.ts';
import { localDynamodb, openRedis } from '../callers/rerunsafe.ts';
import type { Place } from '../protocol.ts';
import type { Locks } from './locks.ts';

export async function leasesOnDynamodb(place: Place): Promise<Locks> {
  const client = localDynamodb(place.dynamodb);
  return leases(dynamodbStore({ client, tableName: place.table }), (name, fence, value) =>
    fencedPut(client, fence, { TableName: place.table, Item: { id: { S: `resource ${name}` }, value: { S: value } } }),
  );
}

export async function leasesOnRedis(place: Place): Promise<Locks> {
  const client = await openRedis(place.redis[0] ?? '');
  return leases(redisStore({ client }), (name, fence, value) =>
    fencedScript(client, fence, {
      script: "return redis.call('SET', KEYS[1], ARGV[1])",
      keys: [`resource:${name}`],
      arguments: [value],
    }),
  );
}

function leases(store: RecordStore, put: (name: string, fence: Fence, value: string) => Promise<unknown>): Locks {
  const provider = storeLeases(store);
  return {
    async acquire(name, leaseMs) {
      const got = await tryAcquire(provider, name, { leaseMs });
      if (got.kind !== 'acquired') return undefined;
      const { lease } = got;
      return {
        token: lease.token,
        held: () => !isLost(() => lease.assertHeld()),
        write: (value) => unless('STALE_TOKEN', put(name, lease.fence, value)),
        extend: () => unless('LEASE_LOST', lease.renew()),
        release: async () => (await lease.release()) === 'released',
      };
    },
  };
}

function isLost(assert: () => void): boolean {
  try {
    assert();
    return false;
  } catch (error) {
    if (isRerunSafeError(error, 'LEASE_LOST')) return true;
    throw error;
  }
}

async function unless(code: 'STALE_TOKEN' | 'LEASE_LOST', done: Promise<unknown>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (isRerunSafeError(error, code)) return false;
    throw error;
  }
}
