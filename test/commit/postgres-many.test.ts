import { describe, expect, it } from 'vitest';
import { runInTransaction, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows } = stage;
const CALLS = 500;

const quantile = (sorted: readonly number[], q: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0);

describe('runInTransaction: many callers, few connections', () => {
  for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
    it(`I10 I12 ${CALLS} concurrent calls, each key twice, on a pool of 10: no deadlock, no leak, bounded waiting (${isolation})`, async () => {
      const pool = stage.poolOf({ max: 10, connectionTimeoutMillis: 30_000 });
      const calls = Array.from({ length: CALLS / 2 }, () => fresh({ pool, isolation, waitMs: 20_000, maxTries: 100 }));
      const took: number[] = [];
      let ran = 0;
      const startedAt = performance.now();
      const results = await Promise.all(
        [...calls, ...calls].map(async (call) => {
          const result = await tryRunInTransaction(call, async (tx) => {
            ran += 1;
            return takeOrder(call.key)(tx);
          });
          took.push(performance.now() - startedAt);
          return result;
        }),
      );
      const allMs = performance.now() - startedAt;
      took.sort((a, b) => a - b);
      console.log(
        `${isolation}: ${CALLS} calls on 10 connections in ${Math.round(allMs)} ms (${Math.round((CALLS / allMs) * 1000)}/s), waits p50 ${quantile(took, 0.5)} ms, p99 ${quantile(took, 0.99)} ms, worst ${quantile(took, 1)} ms; work ran ${ran} times for ${calls.length} keys`,
      );
      expect(results.filter((result) => result.kind === 'completed' && !result.replayed)).toHaveLength(calls.length);
      expect(results.filter((result) => result.kind === 'completed' && result.replayed)).toHaveLength(calls.length);
      const { rows: counted } = await stage.pool.query(
        'SELECT count(*)::int AS n, count(DISTINCT key)::int AS keys FROM orders WHERE key = ANY ($1)',
        [calls.map(({ key }) => key)],
      );
      expect(counted).toEqual([{ n: calls.length, keys: calls.length }]);
      expect([pool.totalCount <= 10, pool.idleCount === pool.totalCount, pool.waitingCount]).toEqual([true, true, 0]);
    });
  }

  it('I10 one connection is enough for all of it: 50 calls on a pool of one', async () => {
    const pool = stage.poolOf({ max: 1 });
    const call = fresh({ pool });
    const values = await Promise.all(Array.from({ length: 50 }, (_, n) => runInTransaction(n % 2 === 0 ? call : fresh({ pool }), () => n)));
    expect(new Set(values.filter((_, n) => n % 2 === 0)).size).toBe(1);
    expect(pool.idleCount).toBe(1);
  });

  it('I10 a pool that is full for longer than its limit is STORE_UNAVAILABLE, and the call has done nothing', async () => {
    const pool = stage.poolOf({ max: 1, connectionTimeoutMillis: 100 });
    const holder = await pool.connect();
    const call = fresh({ pool });
    const startedAt = performance.now();
    await expect(runInTransaction(call, takeOrder(call.key))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    holder.release();
    expect(await rows(call.key)).toEqual([]);
  });

  it('I10 work that needs a second connection of a full pool fails by the limit of the pool, and all connections come back', async () => {
    const pool = stage.poolOf({ max: 2, connectionTimeoutMillis: 300 });
    const nested = await Promise.allSettled(
      Array.from({ length: 4 }, () => {
        const call = fresh({ pool });
        return runInTransaction(call, async (tx) => {
          await takeOrder(call.key)(tx);
          await new Promise((resolve) => setTimeout(resolve, 50));
          return pool.query('SELECT 1');
        });
      }),
    );
    expect(nested.some(({ status }) => status === 'rejected')).toBe(true);
    expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]);
  });
});
