import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeKinds, type Server } from '../golden/places.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import { freshName } from '../support/subject.ts';
import { engineOf, OLD, type Version } from './engines.ts';
import { mixedProcesses, SEEDS, sizes } from './mixed.ts';
import { openPlace, type Place } from './place.ts';
import { Reading } from './reading.ts';

interface Started {
  place(): Promise<Place>;
  stop(): Promise<unknown>;
}

const SERVERS: Readonly<Record<string, () => Promise<Started>>> = {
  ...((await javaAvailable()) && {
    dynamodb: async () => {
      const emulator = await startDynamoDbLocal();
      return { place: async () => ({ kind: 'dynamodb', endpoint: emulator.endpoint, tableName: freshName() }) as const, stop: () => emulator.stop() };
    },
  }),
  ...(redisAvailable() && {
    redis: async () => {
      const server = await startRedis();
      return { place: async () => ({ kind: 'redis', url: server.url }) as const, stop: () => server.stop() };
    },
  }),
  ...((await postgresAvailable()) && {
    postgres: async () => {
      const server = await startPostgres();
      return {
        place: async () => ({ kind: 'postgres', connectionString: (await server.database()).url }) as const,
        stop: () => server.stop(),
      };
    },
  }),
};
/** The oldest engine that has the store. */
const OLDEST: Readonly<Record<string, Version>> = { dynamodb: 'd922e28' };

describe.each(Object.entries(SERVERS))('processes of two versions on %s', (name, start) => {
  let server: Started;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  it.each(SEEDS)(
    'I1 I2 I3 I5 killed and stalled: one outcome a key, tokens that grow, seed %d',
    async (seed) => {
      const place = await server.place();
      const old = OLDEST[name] ?? '8a3546b';
      // Whoever is older makes the table; the later one must find all that it needs, or add it.
      for (const version of [old, 'today'] as const) {
        const { store, close } = await openPlace(await engineOf(version), place);
        await store.setUp?.();
        await close();
      }
      // There a lease lapses two seconds late, for the clocks of its callers.
      await mixedProcesses(place, old, { ...sizes(seed), ...(name === 'dynamodb' && { fails: 2 }) });
    },
    150_000,
  );
});

const [dynamodb] = (await placeKinds()).filter(({ name }) => name === 'dynamodb');

describe.runIf(dynamodb !== undefined)('outcomes in parts on DynamoDB', () => {
  let server: Server;
  beforeAll(async () => {
    server = (await dynamodb?.start()) as Server;
  });
  afterAll(() => server.stop());

  it.each(OLD)('I3 %s reads, lists and purges a table with parts as it is written down, and removes no part', async (old) => {
    if (dynamodb === undefined) return expect.unreachable();
    const reading = new Reading(old, dynamodb, server);
    const names = reading.names.filter((name) => name.includes('parts'));
    expect(names.length).toBeGreaterThan(3);
    await reading.readsAsMeant(names);
    const { place, store } = await reading.laid([...names, 'expired']);
    const before = (await place.dump()).length;
    let listed = 0;
    for await (const _ of store.list({})) listed += 1;
    expect(listed).toBe(names.length + 1);
    expect(await store.purge({})).toEqual({ removed: 1 });
    expect((await place.dump()).length).toBe(before - 1);
  });
});
