import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { storeLeases } from '../../src/core/store-leases.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { databaseFolder } from '../support/sqlite-file.ts';

it('ShedLock #3577 a lease never joins the transaction that the caller has open: its rollback takes neither the lease nor its release', async () => {
  const { path, remove } = await databaseFolder();
  const database = new DatabaseSync(path);
  const leases = storeLeases(sqliteStore({ database }));
  const store = sqliteStore({ path });
  try {
    await leases.setUp();
    database.exec('CREATE TABLE orders (n INTEGER) STRICT');
    const inTransaction = async <R>(work: () => Promise<R>): Promise<R> => {
      database.exec('BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)');
      const result = work();
      await new Promise((resolve) => setTimeout(resolve, 50));
      database.exec('ROLLBACK');
      return result;
    };
    const others = storeLeases(store);
    const got = await inTransaction(() => leases.acquire('job', { owner: 'me', leaseMs: 60_000 }));
    if (got.kind !== 'acquired') throw new Error(got.kind);
    expect(await others.read('job')).toMatchObject({ held: true, owner: 'me', token: got.token });
    expect(await inTransaction(() => leases.release('job', { owner: 'me', token: got.token }))).toBe('released');
    expect(await others.read('job')).toMatchObject({ held: false, token: got.token });
    expect(database.prepare('SELECT count(*) AS n FROM orders').get()).toEqual({ n: 0 });
  } finally {
    await store.close();
    database.close();
    await remove();
  }
});
