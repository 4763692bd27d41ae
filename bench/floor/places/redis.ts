import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { type RedisClient, redisStore } from 'rerunsafe/redis';
import { startRedis } from '../../../test/support/redis.ts';
import { type Place, type Row, type Template, templateOf, type Writes } from '../place.ts';

type Send = (...command: string[]) => Promise<unknown>;

export async function nodeRedisPlace(): Promise<Place> {
  const server = await startRedis();
  const client = await createClient({ url: server.url }).connect();
  const end = async (): Promise<void> => {
    client.destroy();
    await server.stop();
  };
  return redisPlace('Redis (redis)', client, (...command) => client.sendCommand(command), end);
}

export async function ioredisPlace(): Promise<Place> {
  const server = await startRedis();
  const client = new Redis(server.url);
  const end = async (): Promise<void> => {
    client.disconnect();
    await server.stop();
  };
  return redisPlace('Redis (ioredis)', client, (name = '', ...args) => client.call(name, args), end);
}

function redisPlace(name: string, client: RedisClient, send: Send, stop: Place['stop']): Place {
  const store = redisStore({ client });
  return { name, store, writes: async () => redisWrites(send, await redisTemplate(store, send)), stop };
}

export const redisTemplate = (store: Place['store'], send: Send): Promise<Template<Fields>> =>
  templateOf(store, async (id) => fieldsOf((await send('HGETALL', `${PREFIX}${id}`)) as object));

type Fields = Readonly<Record<string, string>>;

const PREFIX = '{rerunsafe}:';
const RETENTION_MS = String(25 * 3_600_000);

/** No plain command writes a hash on a condition. Stamped by the server's clock, as ours is. */
const STAMP = `local time = redis.call('TIME') local now = time[1] .. string.format('%03d', math.floor(time[2] / 1000))`;
const CREATE = `if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('HGETALL', KEYS[1]) end ${STAMP}
redis.call('HSET', KEYS[1], 'writtenAtMs', now, unpack(ARGV))`;
const REPLACE = `if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then return redis.call('HGETALL', KEYS[1]) end ${STAMP}
redis.call('HSET', KEYS[1], 'writtenAtMs', now, unpack(ARGV, 3)) redis.call('PEXPIRE', KEYS[1], ARGV[2])`;
const shaOf = (source: string): string => createHash('sha1').update(source).digest('hex');
const [CREATE_SHA, REPLACE_SHA] = [shaOf(CREATE), shaOf(REPLACE)];

export async function redisWrites(send: Send, { running, completed }: Template<Fields>): Promise<Writes> {
  for (const source of [CREATE, REPLACE]) await send('SCRIPT', 'LOAD', source);
  const flat = (template: Fields, { owner, revision }: Row): string[] => Object.entries({ ...template, owner, revision }).flat();
  return {
    async create(row) {
      const standing = await send('EVALSHA', CREATE_SHA, '1', `${PREFIX}${row.id}`, ...flat(running, row));
      return standing === null ? { version: row.revision } : { standing };
    },
    async complete(row, over) {
      const standing = await send('EVALSHA', REPLACE_SHA, '1', `${PREFIX}${row.id}`, over, RETENTION_MS, ...flat(completed, row));
      if (standing !== null) throw new Error('it was not there');
    },
  };
}

/** Names and values in turn, or an object: as the client's version of the protocol has it. */
function fieldsOf(answer: object): Fields {
  const flat = (Array.isArray(answer) ? answer : Object.entries(answer).flat()).map(String);
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) fields[flat[at] as string] = flat[at + 1] as string;
  const { writtenAtMs: _, ...others } = fields;
  return others;
}
