/**
 * Servers that are not there, that say nothing, or refuse who asks.
 *
 * @module
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { look } from '../../../src/cli/places/check-store.ts';
import { openPlace } from '../../../src/cli/places/open.ts';
import type { RerunSafeError } from '../../../src/index.ts';
import { postgresAvailable, startPostgres } from '../../support/postgres.ts';
import { redisAvailable, startRedis } from '../../support/redis.ts';
import { told } from './processes.ts';

/** Loading them is not what is measured. */
beforeAll(() =>
  Promise.all([import('pg'), import('redis'), import('@aws-sdk/client-dynamodb'), import('@azure/data-tables'), import('@azure/storage-blob')]),
);

const SECRET = 'HUNTER2';

/** Each with a secret, where it has one at all. */
function placesAt(port: number): string[] {
  const setting = `PLACES_TEST_AT_${port}`;
  const at = `http://127.0.0.1:${port}/account`;
  vi.stubEnv(setting, `DefaultEndpointsProtocol=http;AccountName=account;AccountKey=${SECRET}=;BlobEndpoint=${at};TableEndpoint=${at}`);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
  return [
    `postgres://user:${SECRET}@127.0.0.1:${port}/db`,
    `redis://user:${SECRET}@127.0.0.1:${port}`,
    `dynamodb:places?region=eu-west-1&endpoint=http://127.0.0.1:${port}`,
    `azure-tables:?connection=${setting}`,
    `azure-blob:?connection=${setting}`,
  ];
}

interface Use {
  readonly error: RerunSafeError;
  readonly openMs: number;
  readonly useMs: number;
  readonly closeMs: number;
}

async function used(url: string): Promise<Use> {
  const startMs = performance.now();
  const place = await openPlace(url, process.env);
  const openedMs = performance.now();
  const error = await look(place).then(
    () => new Error('it answered'),
    (thrown: unknown) => thrown,
  );
  const usedMs = performance.now();
  await place.close();
  const closedMs = performance.now();
  return { error: error as RerunSafeError, openMs: openedMs - startMs, useMs: usedMs - openedMs, closeMs: closedMs - usedMs };
}

describe('a store that is away', () => {
  it.concurrent('is STORE_UNAVAILABLE at once where nobody listens, without a word of a secret', async () => {
    for (const { error, useMs } of await Promise.all(placesAt(1).map(used))) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('ECONNREFUSED') });
      expect(useMs).toBeLessThan(8_000);
      expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
    }
  });

  it.concurrent('is STORE_UNAVAILABLE within about ten seconds where somebody listens and says nothing, and closing does not wait for it', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      for (const { error, useMs, closeMs } of await Promise.all(placesAt((silent.address() as AddressInfo).port).map(used))) {
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
        expect(useMs).toBeLessThan(12_000);
        expect(closeMs).toBeLessThan(2_000);
        expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
      }
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  if (redisAvailable()) {
    it.concurrent('a Redis that was away in the middle is used again when it is back', async () => {
      const server = await startRedis();
      const place = await openPlace(server.url, process.env);
      try {
        await look(place);
        await server.kill();
        await expect(look(place)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await server.restart();
        await look(place);
      } finally {
        await place.close();
        await server.stop();
      }
    });
  }
});

if (await postgresAvailable()) {
  it('a password that PostgreSQL refuses is for a person, and is not shown', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-hba-'));
    const rules = join(folder, 'pg_hba.conf');
    await writeFile(rules, 'host all all 127.0.0.1/32 scram-sha-256\n');
    await chmod(folder, 0o755);
    const server = await startPostgres({ settings: { hba_file: rules } });
    try {
      const { error } = await used(`postgres://postgres:${SECRET}@127.0.0.1:${server.port}/postgres`);
      expect(error).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('Look at user and password') });
      expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

if (redisAvailable()) {
  it.each([[[]], [['redis']]])('a password that Redis refuses is for a person, and is not shown (without the packages %j)', async (without) => {
    const server = await startRedis();
    try {
      const answer = await told('look', server.url.replace('//', `//user:${SECRET}@`), { without });
      expect(answer).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('Look at user name and password') });
      expect(answer.everything).not.toContain(SECRET);
    } finally {
      await server.stop();
    }
  });
}
