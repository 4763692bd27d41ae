/**
 * Stores on servers: opened, set up, looked at by the doctor, before and after they are there.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { doctor } from '../../../src/cli/commands/doctor.ts';
import { setUp } from '../../../src/cli/commands/set-up.ts';
import { openPlace } from '../../../src/cli/places/open.ts';
import { startAzurite } from '../../support/azurite.ts';
import { javaAvailable, startDynalite, startDynamoDbLocal } from '../../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../../support/postgres.ts';
import { redisAvailable, startRedis } from '../../support/redis.ts';
import { collected } from './collected.ts';

interface Server {
  readonly url: string;
  readonly env?: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

interface Kind {
  readonly name: string;
  /** There is something to be made. */
  readonly isMade: boolean;
  start(): Promise<Server>;
}

const azure = async (url: string): Promise<Server> => {
  const { connectionString, stop } = await startAzurite();
  const setting = `PLACES_TEST_${url.replace(/\W/g, '_')}`;
  vi.stubEnv(setting, connectionString);
  return { url: `${url}?connection=${setting}`, stop };
};

const tables: Kind = { name: 'azure-tables', isMade: true, start: () => azure('azure-tables:places') };
const blobs: Kind = { name: 'azure-blob', isMade: true, start: () => azure('azure-blob:places') };

const dynamodb: Kind = {
  name: 'dynamodb',
  isMade: true,
  async start() {
    const { endpoint, stop } = await ((await javaAvailable()) ? startDynamoDbLocal() : startDynalite());
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
    return { url: `dynamodb:places?region=eu-west-1&endpoint=${endpoint}`, stop };
  },
};

const postgres: Kind = {
  name: 'postgres',
  isMade: true,
  async start() {
    const server = await startPostgres({ own: true });
    return { url: `${(await server.database()).url}#table=places&schema=public`, stop: server.stop };
  },
};

const redis: Kind = {
  name: 'redis',
  isMade: false,
  async start() {
    const server = await startRedis();
    return { url: `${server.url}/3#prefix=places:&accept-failover-loss`, stop: server.stop };
  },
};

const KINDS = [tables, blobs, dynamodb, ...((await postgresAvailable()) ? [postgres] : []), ...(redisAvailable() ? [redis] : [])];

/** All at once: each takes seconds of waiting. */
const servers = new Map<Kind, Server>();
beforeAll(async () => {
  await Promise.all(KINDS.map(async (kind) => servers.set(kind, await kind.start())));
});
afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())));

describe.each(KINDS)('$name', (kind) => {
  const { isMade } = kind;
  const server = (): Server => servers.get(kind) as Server;
  const examined = async (): Promise<{ exitCode: number; lines: string }> => {
    const { out, lines } = collected();
    return { exitCode: await doctor(server().url, process.env, out), lines: lines.join('\n') };
  };
  const madeBy = async (): Promise<unknown> => {
    const place = await openPlace(server().url, process.env);
    const { out, values } = collected(true);
    await setUp(place, out);
    await place.close();
    return (values[0] as { made: boolean }).made;
  };

  it('before it is set up the doctor says what to run, and afterwards that all is well', async () => {
    const before = await examined();
    if (isMade) {
      expect(before.exitCode).toBe(78);
      expect(before.lines).toMatch(/problem {2}set up: .*\n *-> Run: rerunsafe set-up/);
    }
    const made = await Promise.all(Array.from({ length: 50 }, madeBy));
    expect(made.includes(true)).toBe(isMade);
    expect(await madeBy()).toBe(false);
    const after = await examined();
    expect(after).toMatchObject({ exitCode: 0, lines: expect.stringContaining('All is well.') });
  });

  it('the doctor leaves no record behind, only the row of its one lease', async () => {
    const place = await openPlace(server().url, process.env);
    const left: string[] = [];
    try {
      for await (const { record } of place.store?.list({}) ?? []) left.push(record.operation);
      expect((await place.leases.read('rerunsafe/doctor'))?.held).toBe(false);
    } finally {
      await place.close();
    }
    expect(left).toEqual(place.store === undefined ? [] : ['rerunsafe/lease']);
  });

  it('while it is away, the doctor says so and ends with 69', async () => {
    await server().stop();
    const answer = await examined();
    expect(answer.exitCode).toBe(69);
    expect(answer.lines).toMatch(/problem {2}reachable: .*ECONNREFUSED.*\n *-> Look whether it runs/);
  });
});
