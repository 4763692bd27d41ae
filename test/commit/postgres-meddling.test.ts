import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runInTransaction, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
const code = (want: string) => expect.objectContaining({ code: want });

describe('runInTransaction: work that meddles', () => {
  for (const text of ['COMMIT', ' -- now\n commit;', '/* x */ ROLLBACK', 'begin', 'END', 'ROLLBACK WORK', 'START TRANSACTION']) {
    it(`I8 ${JSON.stringify(text)} is refused, and not sent`, async () => {
      const call = fresh();
      await runInTransaction(call, async (tx) => {
        await expect(tx.query(text)).rejects.toThrow(code('INVALID_OPTIONS'));
        return takeOrder(call.key)(tx);
      });
      expect(await rows(call.key)).toEqual(['taken']);
    });
  }

  for (const ends of ['COMMIT', 'ROLLBACK', 'COMMIT; BEGIN', 'ROLLBACK; BEGIN']) {
    it(`I8 work that ends the transaction by "SELECT 1; ${ends}" is no success, and the record is blocked`, async () => {
      const call = fresh();
      const meddling = runInTransaction(call, async (tx) => {
        await takeOrder(call.key)(tx);
        await tx.query(`SELECT 1; ${ends}`);
        return 'fine';
      });
      await expect(meddling).rejects.toThrow(code('WRITE_UNKNOWN'));
      expect(await rows(call.key)).toEqual(ends.startsWith('COMMIT') ? ['taken'] : []);
      expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'blocked', why: 'unknown' });
      expect(stage.pool.idleCount).toBe(stage.pool.totalCount);
    });
  }

  it('I12 statements after the end are refused, and reach no connection', async () => {
    const call = fresh();
    let kept: { query(text: string): Promise<unknown> } | undefined;
    await runInTransaction(call, async (tx) => {
      kept = tx;
    });
    await expect(kept?.query('SELECT 1')).rejects.toThrow(code('INVALID_OPTIONS'));
  });

  it('I12 work that loses its connection fails, and the pool is whole', async () => {
    const call = fresh();
    const killed = runInTransaction(call, async (tx) => {
      await takeOrder(call.key)(tx);
      const { rows: own } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await stage.pool.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
      // The news of it comes while nothing is asked.
      await sleep(100);
      return tx.query('SELECT 1');
    });
    await expect(killed).rejects.toThrow();
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
    await Promise.all(Array.from({ length: 20 }, () => stage.pool.query('SELECT 1')));
  });

  it('I10 a connection of the pool that had died before is replaced, and nobody is told', async () => {
    const pool = stage.poolOf({ max: 1 });
    const { rows: own } = await pool.query('SELECT pg_backend_pid() AS pid');
    const call = fresh({ pool });
    const dying = stage.pool.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
    const ran = runInTransaction(call, takeOrder(call.key));
    await dying;
    expect(await ran).toEqual({ value: 'taken' });
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I12 steps and commits are refused in a transaction', async () => {
    const call = fresh();
    await runInTransaction(call, async (_tx, run) => {
      await expect(run.step('a', () => 1)).rejects.toThrow(code('INVALID_OPTIONS'));
      await expect(run.commit(1, async () => ({ ok: true, version: 'x' }))).rejects.toThrow(code('INVALID_OPTIONS'));
    });
  });
});
