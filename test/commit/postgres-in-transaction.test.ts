import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import type { FaultProxy } from '../support/faults.ts';
import { postgresFraming, startTcpFaultProxy } from '../support/tcp-proxy.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows } = stage;
let proxy: FaultProxy;
beforeAll(async () => {
  proxy = await startTcpFaultProxy(stage.server.port, postgresFraming);
}, 30_000);
afterAll(() => proxy?.stop());
const proxied = (config = {}) =>
  stage.poolOf({ host: '127.0.0.1', port: proxy.port, connectionString: stage.url.replace(/:\d+\//, `:${proxy.port}/`), max: 1, ...config });

describe('inTransaction', () => {
  it('I1 commits what the body wrote, and rolls back what threw, untouched', async () => {
    const { key } = fresh();
    await inTransaction(stage.pool, {}, takeOrder(key));
    const failure = new Error('no');
    const failing = inTransaction(stage.pool, {}, async (tx) => {
      await takeOrder(key)(tx);
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await rows(key)).toEqual(['taken']);
  });

  it('I1 a COMMIT that PostgreSQL answers with ROLLBACK is no success', async () => {
    const { key } = fresh();
    const failed = inTransaction(stage.pool, {}, async (tx) => {
      await takeOrder(key)(tx);
      await tx.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(failed).rejects.toMatchObject({ code: 'INVALID_OPTIONS', cause: expect.objectContaining({ code: '22012' }) });
    expect(await rows(key)).toEqual([]);
  });

  it('I1 where the failed statement was a conflict with another transaction, that is what is thrown', async () => {
    const { key } = fresh();
    await stage.pool.query("INSERT INTO orders VALUES ($1, '')", [key]);
    const failed = inTransaction(stage.pool, { isolation: 'repeatable read' }, async (tx) => {
      await tx.query('SELECT 1');
      await stage.pool.query("UPDATE orders SET value = 'theirs' WHERE key = $1", [key]);
      await tx.query("UPDATE orders SET value = 'mine' WHERE key = $1", [key]).catch(() => {});
    });
    await expect(failed).rejects.toMatchObject({ code: '40001' });
  });

  it('I12 its limits are those of the transaction alone', async () => {
    const pool = stage.poolOf({ max: 1, lock_timeout: 7_000, statement_timeout: 8_000 });
    const shown = async (tx: { query(text: string): Promise<{ rows: object[] }> }) =>
      Object.values(
        (
          await tx.query(
            "SELECT current_setting('lock_timeout'), current_setting('statement_timeout') AS s, current_setting('idle_in_transaction_session_timeout') AS i, current_setting('transaction_isolation') AS t",
          )
        ).rows[0] ?? {},
      );
    const options = { isolation: 'serializable', lockTimeoutMs: 11, statementTimeoutMs: 1_200, idleTimeoutMs: 13_000 } as const;
    expect(await inTransaction(pool, options, shown)).toEqual(['11ms', '1200ms', '13s', 'serializable']);
    expect(await inTransaction(pool, {}, shown)).toEqual(['7s', '8s', '1min', 'read committed']);
    expect(await shown(pool)).toEqual(['7s', '8s', '0', 'read committed']);
  });

  it('I8 a connection lost during COMMIT is WRITE_UNKNOWN, before it STORE_UNAVAILABLE, and the connection does not go back', async () => {
    const pool = proxied();
    const { key } = fresh();
    const is = (what: string) => (request: { body: Buffer }) => request.body.includes(what);
    proxy.inject({ match: is('COMMIT\0'), action: 'drop-answer' });
    await expect(inTransaction(pool, {}, takeOrder(key))).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect([await rows(key), pool.totalCount]).toEqual([['taken'], 0]);
    proxy.inject({ match: is('BEGIN'), action: 'drop-answer' });
    await expect(inTransaction(pool, {}, takeOrder(key))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect([await rows(key), pool.totalCount]).toEqual([['taken'], 0]);
  });

  it('I12 a ROLLBACK that nobody answers costs the connection, not the error', async () => {
    const pool = proxied({ query_timeout: 200 });
    proxy.inject({ match: ({ body }) => body.includes('ROLLBACK\0'), action: 'stall' });
    await expect(inTransaction(pool, {}, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    expect(pool.totalCount).toBe(0);
    proxy.clear();
    expect(await inTransaction(pool, {}, async () => 'well')).toBe('well');
  });

  it('I12 a statement of our own that is given up costs the connection, since it may still wait on the server', async () => {
    const pool = stage.poolOf({ max: 1 });
    const startedAt = performance.now();
    const given = inTransaction(pool, {}, (_tx, session) => session.own('SELECT pg_sleep(3)', undefined, { limitMs: 50 }));
    await expect(given).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(pool.totalCount).toBe(0);
  });
});
