import { describe, expect, it } from 'vitest';
import { forgetRun, PermanentError, runOnce, tryRunOnce } from '../../src/index.ts';
import { fenced, postgresStore, runInTransaction, type TakeOnceOptions, takeOnce, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { gate, takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
const code = (want: string) => expect.objectContaining({ code: want });
const store = () => postgresStore({ pool: stage.pool });
const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;

/** An attempt of runOnce that ends in this way. */
async function leave(key: string, how: 'released' | 'lapsed' | 'error', input?: unknown): Promise<void> {
  const verdict = how === 'released' ? 'release' : how === 'lapsed' ? 'unknown' : 'remember';
  await runOnce({ store: store(), operation: 'orders/take', key, input, onThrow: () => verdict }, () => {
    throw new Error(how);
  }).catch(() => {});
}

describe('runInTransaction: what runOnce has left under the same key', () => {
  for (const isolation of ISOLATIONS) {
    it(`I4 I5 a released or lapsed record is taken over, by one of many, with a higher token (${isolation})`, async () => {
      for (const how of ['released', 'lapsed'] as const) {
        const call = fresh({ isolation, waitMs: 20_000, maxTries: 100 });
        await leave(call.key, how);
        const [before] = await records(call.key);
        let token: number | undefined;
        const results = await Promise.all(
          Array.from({ length: 16 }, () =>
            tryRunInTransaction(call, async (tx, run) => {
              token = run.token;
              return takeOrder(call.key)(tx);
            }),
          ),
        );
        expect(results.filter((result) => result.kind === 'completed' && !result.replayed && result.attempt === 2)).toHaveLength(1);
        expect(results.filter((result) => result.kind === 'completed')).toHaveLength(16);
        expect(await rows(call.key)).toEqual(['taken']);
        expect(token).toBeGreaterThan(Number(before?.token));
        expect((await records(call.key))[0]).toMatchObject({ attempt: '2', created_at_ms: before?.created_at_ms });
      }
    });
  }

  it('I4 the fence of the run holds inside of its transaction, for a first run and for a takeover', async () => {
    for (const how of [undefined, 'lapsed'] as const) {
      const call = fresh();
      if (how !== undefined) await leave(call.key, how);
      await runInTransaction(call, async (tx, run) => {
        if (run.fence === undefined) throw new Error('no fence');
        await fenced(tx, run.fence);
        const stale = { ...run.fence, token: run.fence.token - 1 };
        await expect(fenced(tx, stale)).rejects.toThrow(code('STALE_TOKEN'));
      });
    }
  });

  it('I6 a run of runOnce whose lease lasts is in flight, and is not waited for', async () => {
    const call = fresh();
    await runOnce({ store: store(), operation: call.operation, key: call.key }, async () => {
      expect(await tryRunInTransaction(call, takeOrder(call.key))).toEqual({ kind: 'in-flight', retryAfterMs: expect.any(Number) });
    });
    expect(await rows(call.key)).toEqual([]);
  });

  it('I4 a run of runOnce that was taken over cannot complete any more', async () => {
    const call = fresh();
    const [begun, finish] = [gate(), gate()];
    const stale = runOnce({ store: store(), operation: call.operation, key: call.key, leaseMs: 100, renew: 'none' }, async () => {
      begun.open();
      await finish.opened;
      return 'stale';
    });
    await begun.opened;
    await expect.poll(() => tryRunInTransaction(call, takeOrder(call.key)), { timeout: 5_000 }).toMatchObject({ kind: 'completed' });
    finish.open();
    // Both have completed for the same input: the first outcome is everybody's.
    expect(await stale).toEqual({ value: 'taken' });
  });

  it('I8 onUnknown block blocks a lapsed record, for runOnce too', async () => {
    const call = fresh({ onUnknown: 'block' });
    await leave(call.key, 'lapsed');
    expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'blocked', why: 'unknown', attempt: 1 });
    expect(await tryRunOnce({ store: store(), operation: call.operation, key: call.key }, () => 1)).toMatchObject({ kind: 'blocked' });
    expect(await rows(call.key)).toEqual([]);
  });

  it('I9 I3 fingerprints and remembered errors of runOnce hold', async () => {
    const call = fresh({ input: { a: 1 } });
    await leave(call.key, 'released', { a: 2 });
    expect(await tryRunInTransaction(call, takeOrder(call.key))).toEqual({ kind: 'key-reused' });
    const other = fresh();
    await leave(other.key, 'error');
    expect(await tryRunInTransaction(other, takeOrder(other.key))).toMatchObject({ kind: 'failed', replayed: true });
  });

  it('I10 maxAttempts blocks', async () => {
    const call = fresh({ maxAttempts: 1 });
    await leave(call.key, 'released');
    expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'blocked', why: 'attempts' });
    expect((await records(call.key))[0]).toMatchObject({ state: 'blocked' });
  });

  it('I5 a record that has expired is as good as absent, but for its token', async () => {
    const call = fresh({ retentionMs: 1 });
    await runInTransaction(call, takeOrder(call.key));
    const [before] = await records(call.key);
    await expect.poll(() => tryRunInTransaction(call, takeOrder(call.key)), { timeout: 5_000 }).toMatchObject({ replayed: false, attempt: 1 });
    expect(Number((await records(call.key))[0]?.token)).toBeGreaterThan(Number(before?.token));
    expect((await rows(call.key)).length).toBeGreaterThan(1);
  });

  it('I5 after forgetRun it runs again', async () => {
    const call = fresh();
    await runInTransaction(call, takeOrder(call.key));
    await forgetRun({ store: store(), operation: call.operation, key: call.key });
    expect(await runInTransaction(call, takeOrder(call.key, 'second'))).toEqual({ value: 'second' });
  });
});

describe('takeOnce', () => {
  const options = (): TakeOnceOptions => ({ operation: 'inbox/orders', key: fresh().key });

  async function take(taking: TakeOnceOptions, isolation = 'READ COMMITTED', end = 'COMMIT'): Promise<boolean> {
    const client = await stage.pool.connect();
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      const first = await takeOnce(client, taking);
      if (first) await takeOrder(taking.key)(client);
      await client.query(end);
      return first;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  it('I1 one of 32 transactions takes it, the others find it taken, and one row stands', async () => {
    const taking = options();
    const took = await Promise.all(Array.from({ length: 32 }, () => take(taking)));
    expect(took.filter(Boolean)).toHaveLength(1);
    expect(await rows(taking.key)).toEqual(['taken']);
    expect(await records(taking.key)).toEqual([expect.objectContaining({ state: 'completed', operation: 'inbox/orders' })]);
  });

  it('I1 what is rolled back was never taken', async () => {
    const taking = options();
    expect(await take(taking, 'READ COMMITTED', 'ROLLBACK')).toBe(true);
    expect(await take(taking)).toBe(true);
    expect(await take(taking)).toBe(false);
    expect(await rows(taking.key)).toEqual(['taken']);
  });

  it('I1 under REPEATABLE READ and SERIALIZABLE a loser gets 40001, untouched, and finds it taken when it begins again', async () => {
    for (const isolation of ['REPEATABLE READ', 'SERIALIZABLE']) {
      const taking = options();
      const took = await Promise.allSettled(Array.from({ length: 8 }, () => take(taking, isolation)));
      expect(took.filter((end) => end.status === 'fulfilled' && end.value)).toHaveLength(1);
      for (const end of took) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: '40001' });
      expect(await take(taking, isolation)).toBe(false);
      expect(await rows(taking.key)).toEqual(['taken']);
    }
  });

  it('I1 in the transaction of runInTransaction, too', async () => {
    const taking = options();
    const took: boolean[] = [];
    for (const _ of [1, 2]) await runInTransaction(fresh(), async (tx) => void took.push(await takeOnce(tx, taking)));
    expect(took).toEqual([true, false]);
  });

  it('I12 outside of a transaction it is refused, and nothing is written', async () => {
    const taking = options();
    await expect(takeOnce(stage.pool, taking)).rejects.toThrow(code('INVALID_OPTIONS'));
    expect(await records(taking.key)).toEqual([]);
  });

  it('I9 another input under the same key is refused, and a lock limit of the caller stays what it was', async () => {
    const taking = { ...options(), input: 1 };
    await take(taking);
    await expect(take({ ...taking, input: 2 })).rejects.toThrow(code('KEY_REUSED'));
    await runInTransaction(fresh(), async (tx) => {
      await tx.query("SET LOCAL lock_timeout = '1234ms'");
      await takeOnce(tx, options());
      expect((await tx.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '1234ms' }]);
    });
  });

  it('I2 what a run has remembered as an error counts as taken; who is under way in runOnce is in flight', async () => {
    const call = fresh();
    await runInTransaction(call, () => Promise.reject(new PermanentError('no'))).catch(() => {});
    expect(await take({ operation: call.operation, key: call.key })).toBe(false);
    const other = fresh();
    await runOnce({ store: store(), operation: other.operation, key: other.key }, async () => {
      await expect(take({ operation: other.operation, key: other.key })).rejects.toThrow(code('IN_FLIGHT'));
    });
  });
});
