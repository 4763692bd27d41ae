import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aesSeal, currentRun, isRerunSafeError, PermanentError, runOnce } from '../../src/index.ts';
import { postgresStore, runInTransaction, tryRunInTransaction } from '../../src/stores/postgres/index.ts';
import { gate, takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
const code = (want: string) => expect.objectContaining({ code: want });

describe('runInTransaction: one outcome', () => {
  for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
    it(`I1 I2 64 concurrent callers of one key leave one business row and all get its value (${isolation})`, async () => {
      const call = fresh({ isolation, waitMs: 20_000, maxTries: 200 });
      let nth = 0;
      const values = await Promise.all(
        Array.from({ length: 64 }, () => runInTransaction(call, async (tx) => takeOrder(call.key, `taken by ${nth++}`)(tx))),
      );
      const written = await rows(call.key);
      expect(written).toHaveLength(1);
      expect(new Set(values.map(({ value }) => value))).toEqual(new Set(written));
      expect(await records(call.key)).toEqual([expect.objectContaining({ state: 'completed', attempt: '1' })]);
      expect(stage.pool.idleCount).toBe(stage.pool.totalCount);
    });

    it(`I1 callers whose first ones throw become the winner one after another, and only the last row stays (${isolation})`, async () => {
      const call = fresh({ isolation, waitMs: 20_000, maxTries: 200 });
      let nth = 0;
      const ends = await Promise.allSettled(
        Array.from({ length: 12 }, () =>
          runInTransaction(call, async (tx) => {
            const mine = nth++;
            await takeOrder(call.key, `try ${mine}`)(tx);
            if (mine < 3) throw new Error(`failed ${mine}`);
            return mine;
          }),
        ),
      );
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(3);
      expect(new Set(ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : [])))).toEqual(new Set([3]));
      expect(await rows(call.key)).toEqual(['try 3']);
    });
  }

  it('I3 a later call replays the value, and does not run the work', async () => {
    const call = fresh();
    const first = await tryRunInTransaction(call, takeOrder(call.key));
    const again = await tryRunInTransaction(call, () => {
      throw new Error('ran again');
    });
    expect(first).toEqual({ kind: 'completed', value: { value: 'taken' }, replayed: false, saved: true, attempt: 1 });
    expect(again).toEqual({ ...first, replayed: true });
  });

  it('I1 the record is seen by nobody until it is committed', async () => {
    const call = fresh();
    await runInTransaction(call, async (tx) => {
      await takeOrder(call.key)(tx);
      expect(await records(call.key)).toEqual([]);
      expect(await rows(call.key)).toEqual([]);
    });
    expect(await records(call.key)).toEqual([expect.objectContaining({ state: 'completed' })]);
  });

  it('I6 a duplicate that has waited for waitMs is in flight, and nothing of it has run', async () => {
    const call = fresh();
    const [begun, finish] = [gate(), gate()];
    const first = runInTransaction(call, async (tx) => {
      begun.open();
      await finish.opened;
      return takeOrder(call.key)(tx);
    });
    await begun.opened;
    expect(await tryRunInTransaction({ ...call, waitMs: 50 }, takeOrder(call.key))).toEqual({ kind: 'in-flight', retryAfterMs: 1_000 });
    await expect(runInTransaction({ ...call, waitMs: 0 }, takeOrder(call.key))).rejects.toMatchObject({ code: 'IN_FLIGHT', retryAfterMs: 1_000 });
    finish.open();
    await first;
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I9 the same key with another input is refused, while the first runs and after', async () => {
    const call = fresh({ input: { total: 7 } });
    await runInTransaction(call, takeOrder(call.key));
    await expect(runInTransaction({ ...call, input: { total: 8 } }, takeOrder(call.key))).rejects.toThrow(code('KEY_REUSED'));
    expect(await tryRunInTransaction({ ...call, input: { total: 8 } }, takeOrder(call.key))).toEqual({ kind: 'key-reused' });
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I2 callers of runOnce over the same table get the same outcome', async () => {
    const { pool: _, ...call } = fresh();
    const value = await runInTransaction({ ...call, pool: stage.pool }, takeOrder(call.key));
    expect(await runOnce({ ...call, store: postgresStore({ pool: stage.pool }) }, () => ({ value: 'ran again' }))).toEqual(value);
  });
});

describe('runInTransaction: throws', () => {
  it('I1 a throw is rolled back, comes out untouched, leaves no trace and may run again', async () => {
    const call = fresh();
    const failure = new Error('no stock');
    await expect(
      runInTransaction(call, async (tx) => {
        await takeOrder(call.key)(tx);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
    expect(await runInTransaction(call, takeOrder(call.key))).toEqual({ value: 'taken' });
  });

  it('I3 a PermanentError is remembered and replayed, without what the work had written', async () => {
    const call = fresh();
    const failure = new PermanentError('card declined', { code: 'declined', data: { last4: '4242' } });
    const decline = async (tx: Parameters<ReturnType<typeof takeOrder>>[0]): Promise<never> => {
      await takeOrder(call.key)(tx);
      throw failure;
    };
    expect(await tryRunInTransaction(call, decline)).toEqual({ kind: 'failed', error: failure, replayed: false });
    expect(await rows(call.key)).toEqual([]);
    await expect(runInTransaction(call, takeOrder(call.key))).rejects.toMatchObject({
      message: 'card declined',
      code: 'declined',
      data: { last4: '4242' },
    });
    expect(await rows(call.key)).toEqual([]);
  });

  it('I3 what onThrow says is remembered is, also after a statement that failed', async () => {
    const call = fresh({ onThrow: () => 'remember' });
    await expect(runInTransaction(call, (tx) => tx.query('SELECT 1 / 0'))).rejects.toMatchObject({ code: '22012' });
    await expect(runInTransaction(call, takeOrder(call.key))).rejects.toMatchObject({ name: 'error', message: 'division by zero' });
  });

  it('I12 a judge that fails has said nothing: the throw is rolled back', async () => {
    const call = fresh({
      onThrow: () => {
        throw new Error('judge');
      },
    });
    await expect(runInTransaction(call, () => Promise.reject(new PermanentError('x')))).rejects.toThrow('x');
    expect(await records(call.key)).toEqual([]);
  });
});

describe('runInTransaction: the run', () => {
  it('knows who it is, the same in every attempt, and is found from below', async () => {
    const call = fresh();
    const seen: unknown[] = [];
    const look = async (): Promise<void> => {
      const run = currentRun();
      seen.push([run?.key, run?.operation, run?.attempt, run?.keyFor('mail'), run?.signal.aborted]);
      throw new Error('again');
    };
    await runInTransaction(call, look).catch(() => {});
    await runInTransaction(call, look).catch(() => {});
    expect(seen[0]).toEqual([expect.any(String), 'orders/take', 1, expect.any(String), false]);
    expect(seen[1]).toEqual(seen[0]);
  });

  it('I12 a signal ends the wait for the first, and the connection is not kept', async () => {
    const call = fresh();
    const [begun, finish] = [gate(), gate()];
    const first = runInTransaction(call, async () => {
      begun.open();
      await finish.opened;
    });
    await begun.opened;
    const stop = new AbortController();
    const second = runInTransaction({ ...call, waitMs: 20_000, signal: stop.signal }, takeOrder(call.key));
    setTimeout(() => stop.abort(new Error('enough')), 100);
    const startedAt = performance.now();
    await expect(second).rejects.toThrow('enough');
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    finish.open();
    await first;
    expect(await rows(call.key)).toEqual([]);
  });

  it('I12 a signal ends the wait for a connection, and the connection that comes later goes back', async () => {
    const pool = stage.poolOf({ max: 1 });
    const holder = await pool.connect();
    const stop = new AbortController();
    const waiting = runInTransaction(fresh({ pool, signal: stop.signal }), () => 1);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    holder.release();
    expect(await runInTransaction(fresh({ pool }), () => 2)).toBe(2);
  });

  it('I2 a value that cannot be stored is completed without it', async () => {
    const call = fresh();
    const value = () => 7;
    expect(await runInTransaction<unknown>(call, () => value)).toBe(value);
    await expect(runInTransaction(call, takeOrder(call.key))).rejects.toThrow(code('RESULT_NOT_STORED'));
  });

  it('I2 a value over 16 MiB is left out, the rows are committed, and later callers are told so', async () => {
    const call = fresh();
    const large = randomBytes(14 * 1_048_576).toString('base64');
    expect(await runInTransaction<unknown>(call, async (tx) => takeOrder(call.key)(tx).then(() => large))).toBe(large);
    await expect(runInTransaction(call, takeOrder(call.key))).rejects.toThrow(code('RESULT_NOT_STORED'));
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('I2 what is sealed is unreadable in the table, and opens for who has the key', async () => {
    const seal = aesSeal({ keys: { a: Buffer.alloc(32, 1) }, current: 'a' });
    const call = fresh({ seal });
    await runInTransaction(call, () => 'a secret');
    expect(JSON.stringify(await records(call.key))).not.toContain('secret');
    expect(await runInTransaction(call, () => 'ran again')).toBe('a secret');
    await expect(runInTransaction({ ...call, seal: undefined as never }, () => 'ran again')).rejects.toThrow(code('STORE_MISCONFIGURED'));
  });

  it('wrong and unknown options are refused, all of them', async () => {
    const wrong = runInTransaction({ ...fresh(), isolation: 'snapshot', waitMs: -1, colour: 1 } as never, () => 1);
    await expect(wrong).rejects.toThrow(/isolation.*waitMs.*colour/);
    await expect(runInTransaction(fresh({ key: '' }) as never, () => 1)).rejects.toThrow(code('MISSING_KEY'));
  });

  it('a table that is not there is STORE_MISCONFIGURED', async () => {
    const lost = await runInTransaction(fresh({ tableName: 'nowhere' }), () => 1).catch((error: unknown) => error);
    expect(isRerunSafeError(lost, 'STORE_MISCONFIGURED')).toBe(true);
  });
});
