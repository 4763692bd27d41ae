import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fencedClaimFile, fencedDeleteFile, fileLeases } from '../../../src/leases/file/index.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rerunsafe-refused-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('a file where a directory is needed is for a person: to try again brings nothing', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  await expect(fileLeases({ directory: join(file, 'below') }).setUp()).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', retryable: false });
});

it('an option that would do nothing is no option', async () => {
  const fence = { id: 'nightly', owner: 'o', token: 1 };
  for (const fenced of [fencedClaimFile, fencedDeleteFile])
    await expect(fenced(join(folder, 'x'), fence, { mode: 0o600 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
});
