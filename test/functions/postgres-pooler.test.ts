import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runOnce, storeLeases, tryAcquire } from '../../src/index.ts';
import { type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/index.ts';
import { freshId, put, sample } from '../../src/testing/record-store/subject.ts';
import { atOnce } from '../../src/testing/suite.ts';
import { type Pgbouncer, pgbouncerAvailable, startPgbouncer } from '../support/pgbouncer.ts';
import { type PostgresDatabase, type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres.ts';

describe.runIf((await postgresAvailable()) && pgbouncerAvailable())('postgresStore through a transaction pooler', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  let pooler: Pgbouncer;
  const closing: (() => Promise<unknown>)[] = [];

  const through = (at: Pgbouncer, options: PostgresStoreOptions = {}) => {
    const store = postgresStore({ connectionString: at.through(database.url), maxConnections: 20, ...options });
    closing.push(() => store.close());
    return store;
  };
  beforeAll(async () => {
    server = await startPostgres({ own: true });
    database = await server.database();
    pooler = await startPgbouncer({ targetPort: server.port, poolSize: 3 });
    await through(pooler).setUp();
  }, 60_000);
  afterAll(async () => {
    for (const close of closing.splice(0)) await close();
    await pooler?.stop();
    await server?.stop();
  });

  it('sets up, runs once and replays, with 20 clients on 3 connections', async () => {
    const store = through(pooler);
    await store.setUp();
    let runs = 0;
    const values = await atOnce(120, (index) =>
      runOnce({ store, operation: 'o', key: index % 40, onInFlight: { waitMs: 20_000 } }, async () => {
        runs += 1;
        return index % 40;
      }),
    );
    expect(values).toEqual(Array.from({ length: 120 }, (_, index) => index % 40));
    expect(runs).toBe(40);
  });

  it('leases are taken, held against others and given back', async () => {
    const leases = storeLeases(through(pooler));
    const first = await tryAcquire(leases, 'nightly', { leaseMs: 30_000 });
    expect(first.kind).toBe('acquired');
    expect((await tryAcquire(leases, 'nightly', { leaseMs: 30_000 })).kind).toBe('held');
    if (first.kind === 'acquired') await first.lease.release();
    const next = await tryAcquire(leases, 'nightly', { leaseMs: 30_000 });
    expect(next.kind).toBe('acquired');
    if (next.kind === 'acquired') await next.lease.release();
  });

  it("the limit of the lock reaches the server with each statement, and stays with none of the pooler's connections", async () => {
    const store = through(pooler, { lockTimeoutMs: 200 });
    const id = freshId();
    const { version } = await put(store, id, sample());
    const direct = database.pool(1);
    const stranger = await direct.connect();
    await stranger.query('BEGIN');
    await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
    const since = performance.now();
    await expect(store.replace(id, sample(), version)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('lockTimeoutMs'),
    });
    expect(performance.now() - since).toBeLessThan(3_000);
    await stranger.query('ROLLBACK');
    stranger.release();
    const other = new Pool({ connectionString: pooler.through(database.url), max: 3 });
    closing.push(() => other.end());
    const limits = await atOnce(
      3,
      async () => (await other.query('SELECT current_setting($1) AS limit, pg_sleep(0.05)', ['lock_timeout'])).rows[0].limit,
    );
    expect(limits).toEqual(['0', '0', '0']);
  });

  it('a pooler that takes no more clients, or has no connection for them, is full: nothing was sent', async () => {
    const small = await startPgbouncer({ targetPort: server.port, poolSize: 1, maxClients: 2, queryWaitTimeout: 1 });
    try {
      const store = through(small, { maxConnections: 1 });
      const hog = new Pool({ connectionString: small.through(database.url), max: 2 });
      hog.on('error', () => {});
      const busy = await hog.connect();
      await busy.query('BEGIN; SELECT 1');
      const full = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('full') };
      // The one connection to the server is taken.
      await expect(store.create(freshId(), sample())).rejects.toMatchObject(full);
      const second = await hog.connect();
      // And now all clients are.
      await expect(store.create(freshId(), sample())).rejects.toMatchObject(full);
      await busy.query('ROLLBACK');
      busy.release();
      second.release();
      await hog.end();
      await expect.poll(() => store.read(freshId()).catch(() => 'full'), { timeout: 5_000 }).toBeUndefined();
      await store.close();
    } finally {
      await small.stop();
    }
  });

  it('a pooler that went away is down, and found again', async () => {
    const gone = await startPgbouncer({ targetPort: server.port, poolSize: 1 });
    const store = through(gone, { maxConnections: 1 });
    await put(store, freshId(), sample());
    await gone.stop();
    await expect(store.read(freshId())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/ECONNREFUSED|terminated/),
    });
    await store.close();
  });
});
