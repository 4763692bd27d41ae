/**
 * rerunsafe, as its README and docs/redis.md set it up: the user's own clients, with their default retries.
 *
 * @module
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createClient } from 'redis';
import { isRerunSafeError, type RecordStore, runOnce } from '../../../src/index.ts';
import { dynamodbStore } from '../../../src/stores/dynamodb/index.ts';
import { redisStore } from '../../../src/stores/redis/index.ts';
import type { Place } from '../protocol.ts';
import { effectsOf } from '../witness.ts';
import { type Caller, WAIT_MS } from './caller.ts';

export const localDynamodb = (endpoint: string): DynamoDBClient =>
  new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });

export async function openRedis(url: string) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export const onDynamodb = async (place: Place): Promise<Caller> =>
  guarded(dynamodbStore({ client: localDynamodb(place.dynamodb), tableName: place.table }), place);

export async function onRedis(place: Place): Promise<Caller> {
  const client = await openRedis(place.redis[0] ?? '');
  // For `onUnknown: 'block'`, which Redis otherwise refuses (docs/redis.md).
  return guarded(redisStore({ client, acceptFailoverLoss: true }), place);
}

const MEANINGS = { IN_FLIGHT: 'in-progress', KEY_REUSED: 'other-payload', BLOCKED: 'unknown' } as const;

function guarded(store: RecordStore, { witness }: Place): Caller {
  return {
    call({ key, amount, terms }, work) {
      const { leaseMs, keepMs, wait, onUnknown } = terms;
      // The far side is asked, and says who did it.
      const ask = () => {
        const [effect] = effectsOf(witness, key);
        return effect === undefined ? ('not-done' as const) : { done: `by ${effect.who}` };
      };
      return runOnce<string>(
        {
          store,
          operation: 'bench/charge',
          key,
          input: { amount },
          leaseMs,
          retentionMs: keepMs,
          onUnknown: onUnknown === 'ask' ? ask : onUnknown,
          ...(wait ? { onInFlight: { waitMs: WAIT_MS } } : {}),
        },
        (run) => work(run.attempt),
      );
    },
    meaning: (error) => (isRerunSafeError(error) ? MEANINGS[error.code as keyof typeof MEANINGS] : undefined),
  };
}
