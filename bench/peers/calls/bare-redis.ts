import { createHash } from 'node:crypto';
import type { createClient } from 'redis';
import { redisStore } from 'rerunsafe/redis';
import type { Row } from '../../floor/place.ts';
import { redisTemplate } from '../../floor/places/redis.ts';
import type { Peer } from '../peer.ts';
import { type BareWrites, bare } from './bare.ts';

const NOW = `local time = redis.call('TIME') local now = time[1] * 1000 + math.floor(time[2] / 1000)`;
const CLAIM = `${NOW} local standing = redis.call('HMGET', KEYS[1], 'state', 'leaseEndsAtMs', 'body')
if standing[1] and not (standing[1] == 'running' and tonumber(standing[2]) < now) then return {standing[1], standing[3]} end
redis.call('HSET', KEYS[1], 'writtenAtMs', string.format('%.0f', now), 'leaseEndsAtMs', string.format('%.0f', now + ARGV[1]), unpack(ARGV, 2))`;
const END = `if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then return 0 end ${NOW}
redis.call('HSET', KEYS[1], 'writtenAtMs', string.format('%.0f', now), unpack(ARGV, 3)) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`;
const RETENTION_MS = String(25 * 3_600_000);
const shaOf = (source: string): string => createHash('sha1').update(source).digest('hex');

export async function bareOnRedis(client: ReturnType<typeof createClient>): Promise<Peer> {
  const send = (...command: string[]): Promise<unknown> => client.sendCommand(command);
  const { running, completed } = await redisTemplate(redisStore({ client }), send);
  const { body: _, ...released } = completed;
  for (const source of [CLAIM, END]) await send('SCRIPT', 'LOAD', source);
  const [claimSha, endSha] = [shaOf(CLAIM), shaOf(END)];
  const keyOf = ({ id }: Row): string => `{rerunsafe}:${id}`;
  const writes: BareWrites = {
    async claim(row, leaseMs) {
      const { owner, revision } = row;
      const fields = Object.entries({ ...running, owner, revision, leaseMs: String(leaseMs) }).flat();
      const standing = (await send('EVALSHA', claimSha, '1', keyOf(row), String(leaseMs), ...fields)) as (string | null)[] | null;
      return standing === null ? undefined : { state: standing[0] ?? undefined, body: standing[1] ?? undefined };
    },
    async end(row, over, state, body) {
      const { owner, revision } = row;
      const fields = Object.entries({ ...released, owner, revision, state, ...(body === undefined ? {} : { body }) }).flat();
      if ((await send('EVALSHA', endSha, '1', keyOf(row), over, RETENTION_MS, ...fields)) !== 1) throw new Error('it was not there');
    },
  };
  return bare(writes);
}
