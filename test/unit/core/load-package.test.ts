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

it('what is there is imported once, and what failed is tried again', async () => {
  let asked = 0;
  const load = async (): Promise<string> => {
    asked += 1;
    if (asked === 1) throw new Error('not yet');
    return 'there';
  };
  await expect(loadPackage('a package of this test', load)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
  expect(await loadPackage('a package of this test', load)).toBe('there');
  expect(await loadPackage('a package of this test', load)).toBe('there');
  expect(asked).toBe(2);
});
