/**
 * The servers of one comparison: its own Redis servers without persistence, and DynamoDB Local in memory.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { javaAvailable, startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { powertoolsTable } from '../../test/support/powertools.ts';
import { type RedisServer, redisAvailable, startRedis } from '../../test/support/redis.ts';
import type { Place } from './protocol.ts';

export type Needs = 'redis' | 'three redis' | 'dynamodb';

export interface Services {
  readonly redis: readonly RedisServer[];
  readonly place: Omit<Place, 'peer' | 'who'>;
  stop(): Promise<void>;
}

export async function missing(needs: ReadonlySet<Needs>): Promise<string[]> {
  const redis = needs.has('redis') || needs.has('three redis');
  return [
    ...(redis && !redisAvailable() ? ['redis-server'] : []),
    ...(needs.has('dynamodb') && !(await javaAvailable()) ? ['Java 17 or later'] : []),
  ];
}

export async function startServices(needs: ReadonlySet<Needs>): Promise<Services> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-promises-'));
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  const stops: (() => Promise<void>)[] = [
    async () => {
      process.off('exit', clear);
      clear();
    },
  ];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const redis: RedisServer[] = [];
    for (let n = 0; n < (needs.has('three redis') ? 3 : needs.has('redis') ? 1 : 0); n++) {
      const server = await startRedis();
      stops.push(() => server.stop());
      redis.push(server);
    }
    const witness = join(folder, 'effects.jsonl');
    await writeFile(witness, '');
    const urls = redis.map(({ url }) => url);
    const tables = needs.has('dynamodb') ? await dynamodbTables(stops) : { dynamodb: '', table: '', powertoolsTable: '' };
    return { redis, place: { redis: urls, witness, ...tables }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function dynamodbTables(stops: (() => Promise<void>)[]): Promise<Pick<Place, 'dynamodb' | 'table' | 'powertoolsTable'>> {
  const emulator = await startDynamoDbLocal();
  stops.push(() => emulator.stop());
  const client = emulator.client();
  const table = `rerunsafe-${randomUUID()}`;
  await dynamodbStore({ client, tableName: table }).setUp();
  return { dynamodb: emulator.endpoint, table, powertoolsTable: await powertoolsTable(client) };
}
