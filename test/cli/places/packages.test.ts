/**
 * The packages that stores need: which one is taken, and what is said where it is missing.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { redisAvailable, startRedis } from '../../support/redis.ts';
import { told } from './processes.ts';

if (redisAvailable()) {
  it('Redis is reached through whichever of the two packages is there', async () => {
    const server = await startRedis();
    try {
      const url = `${server.url}#accept-failover-loss`;
      expect(await told('acquire', url, { without: ['redis'] })).toEqual({ kind: 'acquired' });
      expect(await told('doctor', url, { without: ['ioredis'] })).toMatchObject({ exitCode: 0 });
    } finally {
      await server.stop();
    }
  });
}

const MISSING: readonly (readonly [url: string, packages: readonly string[], toInstall: string])[] = [
  ['postgres://h/d', ['pg'], 'pg'],
  ['redis://h', ['redis', 'ioredis'], 'redis'],
  ['dynamodb:places', ['@aws-sdk/client-dynamodb'], '@aws-sdk/client-dynamodb'],
  ['dynamodb:places?region=eu-west-1', ['@aws-sdk/client-dynamodb'], '@aws-sdk/client-dynamodb'],
  ['azure-tables:?connection=A', ['@azure/data-tables'], '@azure/data-tables'],
  ['azure-blob:?connection=A', ['@azure/storage-blob'], '@azure/storage-blob'],
  ['file:', ['fs-native-extensions'], 'fs-native-extensions'],
];

describe('a package that is missing', () => {
  it('is named, with what to install, by the first use and by the doctor', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-missing-'));
    const env = { A: 'UseDevelopmentStorage=true', XDG_STATE_HOME: folder };
    try {
      const answers = await Promise.all(MISSING.map(([url, without]) => told('look', url, { without, env })));
      MISSING.forEach(([, , name], n) => {
        expect(answers[n]).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining(`npm install ${name}`) });
      });
      const [[url, without]] = MISSING as [(typeof MISSING)[0]];
      const examined = await told('doctor', url, { without });
      expect(examined.exitCode).toBe(78);
      expect(examined.lines?.join('\n')).toMatch(/problem {2}package: .*\n *-> Run: npm install pg/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
