/**
 * A cluster of Redis on this machine: three servers that share the slots, without replicas. About 2 s to start.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { type RedisServer, startRedis } from './redis.ts';

export interface RedisCluster {
  readonly servers: readonly RedisServer[];
  stop(): Promise<void>;
}

const SLOTS = 16_384;
const START_LIMIT_MS = 30_000;

export async function startRedisCluster(size = 3): Promise<RedisCluster> {
  const servers: RedisServer[] = [];
  const clients: Redis[] = [];
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect();
    for (const server of servers) await server.stop();
  };
  try {
    const buses: number[] = [];
    for (let n = 0; n < size; n++) {
      const bus = await freePort();
      buses.push(bus);
      const server = await startRedis({ settings: { 'cluster-enabled': 'yes', 'cluster-port': bus, 'cluster-node-timeout': 5_000 } });
      servers.push(server);
      const client = new Redis(server.url);
      clients.push(client);
      const first = Math.floor((n * SLOTS) / size);
      const last = Math.floor(((n + 1) * SLOTS) / size) - 1;
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(last));
    }
    const [first] = clients as [Redis];
    for (const [n, server] of servers.entries()) await first.call('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(buses[n]));
    const deadline = performance.now() + START_LIMIT_MS;
    for (const client of clients) {
      while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
        if (performance.now() > deadline) throw new Error('the cluster did not come together');
        await pause(50);
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  for (const client of clients.splice(0)) client.disconnect();
  return { servers, stop };
}
