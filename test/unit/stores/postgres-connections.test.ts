import { describe, expect, it } from 'vitest';
import { runOnce } from '../../../src/index.ts';
import { postgresStore } from '../../../src/stores/postgres/index.ts';
import { freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresFraming, startTcpFaultProxy } from '../../support/tcp-proxy.ts';
import { postgresStage } from './postgres-subject.ts';

describe.runIf(await postgresAvailable())('postgresStore and its connections', () => {
  const stage = postgresStage({ own: true, durable: true });
  const killAll = (): Promise<unknown> =>
    stage.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()');

  it('I12 the end of an idle connection of its own pool ends nothing else, and the next call has a new one', async () => {
    const store = await stage.fresh({ connectionString: stage.database.url, maxConnections: 2 });
    await put(store, freshId(), sample());
    await killAll();
    const id = freshId();
    await expect.poll(() => store.read(id).then(() => 'answered', String)).toBe('answered');
    await store.close();
    // A call after it opens a pool again.
    expect(await store.read(id)).toBeUndefined();
  });

  it('a server that was stopped and started is found again', async () => {
    const store = await stage.fresh({ connectionString: stage.database.url });
    await put(store, freshId(), sample());
    await stage.server.crash();
    await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await stage.server.restart();
    await expect.poll(() => store.read(freshId()).then(() => 'answered', String), { timeout: 10_000 }).toBe('answered');
  });

  it('I8 a write whose answer is lost is in doubt; a read is asked again on another connection', async () => {
    await stage.fresh();
    const proxy = await startTcpFaultProxy(stage.server.port, postgresFraming);
    const url = new URL(stage.database.url);
    url.port = String(proxy.port);
    const store = stage.another({ connectionString: url.href, maxConnections: 1 });
    try {
      const id = freshId();
      const record = sample();
      await store.read(id);
      proxy.inject({ match: ({ body }) => body.includes('INSERT'), action: 'drop-answer' });
      await expect(store.create(id, record)).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      proxy.inject({ match: ({ body }) => body.includes('SELECT'), action: 'drop-request' });
      expect(await store.read(id)).toMatchObject({ version: record.revision });
    } finally {
      await store.close();
      await proxy.stop();
    }
  });

  it('a server that says nothing is waited for no longer than a request may take', async () => {
    await stage.fresh();
    const proxy = await startTcpFaultProxy(stage.server.port, postgresFraming);
    const url = new URL(stage.database.url);
    url.port = String(proxy.port);
    const store = stage.another({ connectionString: url.href, maxConnections: 1, requestTimeoutMs: 400, lockTimeoutMs: 100 });
    try {
      proxy.inject({ match: ({ body }) => body.includes('INSERT'), action: 'stall' });
      await expect(store.create(freshId(), sample())).rejects.toMatchObject({ code: 'WRITE_UNKNOWN', cause: { message: 'no answer within 400 ms' } });
      proxy.inject({ match: ({ body }) => body.includes('one LEFT JOIN'), action: 'stall' });
      await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('400 ms') });
      expect(await store.read(freshId())).toBeUndefined();
    } finally {
      await store.close();
      await proxy.stop();
    }
  });

  it("a client inside of the caller's transaction is refused: a rollback would take back what was answered", async () => {
    const client = await stage.client();
    const store = await stage.fresh({ client });
    await client.query('BEGIN');
    await expect(store.create(freshId(), sample())).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('transaction'),
    });
    await client.query('ROLLBACK');
    await put(store, freshId(), sample());
  });

  it('one client does one thing at a time, whoever stops waiting', async () => {
    const client = await stage.client();
    const store = await stage.fresh({ client, lockTimeoutMs: 300 });
    const id = freshId();
    const { version } = await put(store, id, sample());
    const stranger = await stage.client();
    await stranger.query('BEGIN');
    await stranger.query('SELECT FROM rerunsafe WHERE id = $1 FOR UPDATE', [id]);
    const leaving = new AbortController();
    const ghost = store.replace(id, sample(), version, { signal: leaving.signal });
    setTimeout(() => leaving.abort(new Error('gone')), 100);
    await expect(ghost).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    // It stands behind the one that is still under way.
    expect(await store.read(id)).toMatchObject({ version });
    await stranger.query('ROLLBACK');
  });

  it('I12 an aborted call sends nothing, and leaves the pool as it was', async () => {
    const pool = stage.database.pool(2);
    const store = await stage.fresh({ pool });
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    await expect(store.create(freshId(), sample(), { signal })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(store.read(freshId(), { signal })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect([pool.waitingCount, pool.totalCount - pool.idleCount]).toEqual([0, 0]);
  });

  it('says where a database is to be named, when it was not', async () => {
    const before = { ...process.env };
    delete process.env.DATABASE_URL;
    delete process.env.PGHOST;
    try {
      const store = postgresStore();
      await expect(store.read(freshId())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('DATABASE_URL') });
      process.env.DATABASE_URL = stage.database.url;
      await store.setUp();
      expect(await runOnce({ store, operation: 'o', key: 'k' }, () => 'done')).toBe('done');
      await store.close();
    } finally {
      for (const name of ['DATABASE_URL', 'PGHOST']) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });

  it('wrong and unknown options are all told at once', () => {
    const wrong = { schema: '', tableName: 'x'.repeat(41), lockTimeoutMs: 0, poool: 1 };
    expect(() => postgresStore(wrong as never)).toThrow(/schema.*tableName.*lockTimeoutMs.*poool is not an option/);
    expect(() => postgresStore({ connectionString: 'postgres://x', pool: stage.pool })).toThrow(/only one of/);
    expect(() => postgresStore({ pool: stage.pool, lockTimeoutMs: 10_000 })).toThrow(/less than requestTimeoutMs/);
  });
});
