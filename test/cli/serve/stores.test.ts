import { describe, expect, it } from 'vitest';
import { openPlace } from '../../../src/cli/places/open.ts';
import { recordId } from '../../../src/core/key.ts';
import { postgresAvailable, startPostgres } from '../../support/postgres.ts';
import { databaseFolder } from '../../support/sqlite-file.ts';
import { azureTables } from '../processes/places.ts';
import { standings, startPage } from './stage.ts';

const ORDER = recordId('payments/charge', [], ['order 4711']);

/** Sees what is blocked, resolves it, and sees that it is done. */
async function walk(url: string, env: NodeJS.ProcessEnv): Promise<void> {
  const place = await openPlace(url, env);
  await place.store?.setUp?.();
  const stand = await standings(place.store as NonNullable<typeof place.store>, place.leases);
  const page = await startPage(place, { allowWrites: true });
  try {
    const now = await page.get('/');
    expect(now.status).toBe(200);
    for (const name of ['order 4711', 'certificate shop.example', 'backup', 'migrate 42']) expect(now.text).toContain(`<bdi>${name}</bdi>`);
    const { hidden } = await page.get(`/record/${ORDER}`);
    const said = await page.post(`/record/${ORDER}/resolve`, {
      ...hidden,
      as: 'done',
      value: '{"id":"ch_1"}',
      why: 'the provider says so',
      by: 'ann',
    });
    expect(said.status).toBe(303);
    expect((await page.get(`/record/${ORDER}`)).text).toContain('resolved as done by the word of ann: the provider says so');
    expect((await page.post(`/record/${ORDER}/forget`, { ...hidden, why: 'w', by: 'ann' })).status).toBe(409);
    expect((await page.get('/runs?state=completed&prefix=order+4711')).text).toContain('1 of 1 records');
    expect(page.warned).toEqual([]);
  } finally {
    await page.stop();
    await stand.finish();
    await place.close();
  }
}

describe('rerunsafe serve on other stores', () => {
  it('walks through Table Storage', async () => {
    const { url, env, stop } = await azureTables.start();
    try {
      Object.assign(process.env, env);
      await walk(url, { ...process.env, ...env });
    } finally {
      await stop();
    }
  });

  it('I6 says that the store is down, with its code and 503, and is well again when the store is', async () => {
    if (!(await postgresAvailable())) return;
    const server = await startPostgres({ durable: true });
    const { url } = await server.database();
    const place = await openPlace(url, {});
    const page = await startPage(place, { allowWrites: true });
    try {
      const bare = await page.get('/');
      expect(bare.status).toBe(503);
      expect(bare.text).toContain('STORE_MISCONFIGURED');
      expect(bare.text).toContain('rerunsafe set-up');
      await walk(url, {});
      await server.crash();
      const down = await page.get('/runs');
      expect(down.status).toBe(503);
      expect(down.text).toContain('STORE_UNAVAILABLE');
      await server.restart();
      await expect.poll(async () => (await page.get('/')).status, { timeout: 15_000 }).toBe(200);
      expect(page.warned).toEqual([]);
    } finally {
      await page.stop();
      await place.close();
      await server.stop();
    }
  }, 60_000);

  it('looks up single locks where a store has nothing else, and lists none', async () => {
    const { path, remove } = await databaseFolder();
    const place = await openPlace(`file:${path}.locks?shared=host`, {}).catch(() => openPlace(`file:${path}.locks`, {}));
    await place.leases.setUp?.();
    const page = await startPage(place);
    try {
      expect((await page.get('/runs')).headers.get('location')).toBe('/find');
      expect((await page.get('/find')).text).toContain('keeps locks only');
      await place.leases.acquire('backup', { owner: 'o'.repeat(22), leaseMs: 60_000, label: 'db-1' });
      expect((await page.get('/lock?name=backup')).text).toContain('<bdi>db-1</bdi>');
    } finally {
      await page.stop();
      await place.close();
      await remove();
    }
  });
});
