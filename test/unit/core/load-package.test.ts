import { expect, it } from 'vitest';
import { loadPackage } from '../../../src/core/load-package.ts';

it('a package that is missing is STORE_MISCONFIGURED, and says what to install', async () => {
  const name: string = 'rerunsafe-no-such-package';
  await expect(loadPackage(name, () => import(name))).rejects.toMatchObject({
    code: 'STORE_MISCONFIGURED',
    message: expect.stringContaining(`npm install ${name}`),
    cause: expect.any(Error),
  });
});

it('a package that is there is handed over', async () => {
  expect((await loadPackage('node:path', () => import('node:path'))).sep).toBeTypeOf('string');
});
