import { createClient } from 'redis';
import { redisStore } from 'rerunsafe/redis';
import { type RedisServer, redisAvailable, startRedis } from '../../test/support/redis.ts';
import { redisFraming, startTcpFaultProxy } from '../../test/support/tcp-proxy.ts';
import { bareOnRedis } from './calls/bare-redis.ts';
import { nodeIdempotency } from './calls/node-idempotency.ts';
import { powertoolsOnRedis } from './calls/powertools.ts';
import { rerunsafe } from './calls/rerunsafe.ts';
import type { Contender, Service } from './cells.ts';
import { counterOf } from './meter.ts';
import type { Peer } from './peer.ts';

export interface RedisService extends Service {
  readonly server: RedisServer;
  /** The same server through a proxy that counts. */
  readonly counted: { readonly url: string; count(): number };
  stop(): Promise<void>;
}

const LEASE_MS = 300;
const LAPSE_MS = LEASE_MS + 100;

/** undefined: there is no `redis-server`. */
export async function redisService(): Promise<RedisService | undefined> {
  if (!redisAvailable()) return undefined;
  const server = await startRedis();
  const proxy = await startTcpFaultProxy(server.port, redisFraming);
  const countedUrl = `redis://127.0.0.1:${proxy.port}`;
  const ends: (() => Promise<void>)[] = [() => server.stop(), () => proxy.stop()];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  const client = async (url: string) => {
    const made = await createClient({ url }).connect();
    ends.push(async () => made.destroy());
    return made as unknown as ReturnType<typeof createClient>;
  };
  const own = async (url: string): Promise<Peer> => {
    const { peer, close } = await nodeIdempotency(url);
    ends.push(close);
    return peer;
  };
  const contender = async (make: (url: string) => Promise<Peer>): Promise<Contender> => {
    const counted = await make(countedUrl);
    // Scripts are loaded and the server's time is learned: each once for a connection.
    await counted.call(`before ${counted.name}`, () => 'ok');
    return { peer: await make(server.url), counted, meter: counterOf(() => proxy.count()) };
  };
  try {
    const contenders = [
      await contender(async (url) => rerunsafe(redisStore({ client: await client(url) }))),
      await contender(async (url) => powertoolsOnRedis(await client(url))),
      await contender(own),
      await contender(async (url) => bareOnRedis(await client(url))),
    ];
    const counted = { url: countedUrl, count: () => proxy.count() };
    return { name: 'Redis', contenders, leaseMs: LEASE_MS, lapseMs: LAPSE_MS, rounds: 40, times: 50, server, counted, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
