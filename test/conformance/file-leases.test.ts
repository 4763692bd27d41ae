import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { fileLeases } from '../../src/leases/file/index.ts';
import { leaseProviderConformance } from '../../src/testing/index.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rerunsafe-leases-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

leaseProviderConformance({
  name: 'files',
  // The cases that let a lease run out wait at the same time.
  describe: describe.concurrent,
  it,
  leaseMs: 1_000,
  createLeases: async () => ({ leases: fileLeases({ directory }) }),
});
