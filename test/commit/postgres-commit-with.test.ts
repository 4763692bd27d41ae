import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memoryStore, runOnce } from '../../src/index.ts';
import { commitWith, postgresStore } from '../../src/stores/postgres/index.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
const code = (want: string) => expect.objectContaining({ code: want });
const guarded = () => ({ store: postgresStore({ pool: stage.pool }), operation: 'orders/take', key: fresh().key });

describe('commitWith', () => {
  it('I1 the outcome and the rows are committed together, and what the work does afterwards changes nothing', async () => {
    const call = guarded();
    const value = await runOnce(call, async (run) => {
      await commitWith(run, 'committed', async (tx) => {
        await takeOrder(call.key)(tx);
        expect(await rows(call.key)).toEqual([]);
        expect((await records(call.key))[0]).toMatchObject({ state: 'running' });
      });
      throw new Error('too late');
    });
    expect(value).toBe('committed');
    expect(await rows(call.key)).toEqual(['taken']);
    expect(await runOnce(call, () => 'again')).toBe('committed');
  });

  it('I4 a run that was taken over writes neither record nor rows', async () => {
    const call = guarded();
    const stale = runOnce({ ...call, leaseMs: 100, renew: 'none' }, async (run) => {
      const next = () =>
        runOnce({ ...call, onInFlight: { waitMs: 10_000 } }, (second) => commitWith(second, 'second', takeOrder(call.key, 'second')));
      await next();
      await commitWith(run, 'stale', takeOrder(call.key, 'stale'));
    });
    await expect(stale).rejects.toThrow(code('LEASE_LOST'));
    expect(await rows(call.key)).toEqual(['second']);
  });

  it('I8 what the caller throws, and what PostgreSQL says of its statements, comes through untouched; the run may commit something else', async () => {
    const call = guarded();
    const value = await runOnce(call, async (run) => {
      const failure = new Error('no stock');
      const throwing = commitWith(run, 1, async (tx) => {
        await takeOrder(call.key)(tx);
        throw failure;
      });
      await expect(throwing).rejects.toBe(failure);
      await expect(commitWith(run, 2, (tx) => tx.query('SELECT 1 / 0'))).rejects.toMatchObject({ code: '22012' });
      const swallowing = commitWith(run, 3, (tx) => tx.query('SELECT 1 / 0').catch(() => {}));
      await expect(swallowing).rejects.toThrow(code('INVALID_OPTIONS'));
      await commitWith(run, 4, takeOrder(call.key, 'fourth'));
      return 5;
    });
    expect([value, await rows(call.key)]).toEqual([4, ['fourth']]);
  });

  it('I8 a deferred constraint that fails at COMMIT comes through untouched, and the outcome is not committed', async () => {
    await stage.pool.query('CREATE TABLE IF NOT EXISTS seats (seat int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const call = guarded();
    const value = await runOnce(call, async (run) => {
      await expect(commitWith(run, 'twice', (tx) => tx.query('INSERT INTO seats VALUES (1), (1)'))).rejects.toMatchObject({ code: '23505' });
      return 'once';
    });
    expect([value, await runOnce(call, () => 'again')]).toEqual(['once', 'once']);
  });

  for (const [isolation, way] of [
    ['repeatable read', 'thrown'],
    ['repeatable read', 'swallowed'],
  ] as const) {
    it(`I1 a conflict with another transaction runs the statements again (${way})`, async () => {
      const call = guarded();
      await stage.pool.query("INSERT INTO orders VALUES ($1, '')", [call.key]);
      let tries = 0;
      await runOnce(call, (run) =>
        commitWith(
          run,
          1,
          async (tx) => {
            tries += 1;
            if (tries === 1) await stage.pool.query("UPDATE orders SET value = 'theirs' WHERE key = $1", [call.key]);
            const update = tx.query("UPDATE orders SET value = value || ' and mine' WHERE key = $1", [call.key]);
            await (way === 'thrown' ? update : update.catch(() => {}));
          },
          { isolation },
        ),
      );
      expect([tries, await rows(call.key)]).toEqual([2, ['theirs and mine']]);
    });
  }

  for (const ends of ['COMMIT', 'COMMIT; BEGIN', 'ROLLBACK', 'ROLLBACK; BEGIN']) {
    it(`I8 statements that end the transaction themselves ("SELECT 1; ${ends}") are told what stands, and are not run again`, async () => {
      const call = guarded();
      let wrote = 0;
      const meddling = runOnce(call, (run) =>
        commitWith(run, 1, async (tx) => {
          wrote += 1;
          await tx.query(`SELECT 1; ${ends}`);
        }),
      );
      // Their own COMMIT has committed the outcome with it: a look finds it.
      if (ends.startsWith('COMMIT')) expect(await meddling).toBe(1);
      else await expect(meddling).rejects.toThrow(code('INVALID_OPTIONS'));
      expect(wrote).toBe(1);
      expect((await records(call.key))[0]).toMatchObject({ state: ends.startsWith('COMMIT') ? 'completed' : 'released' });
    });
  }

  it('I2 a value that is too large is left out, and the rest is committed', async () => {
    const call = { ...guarded(), store: postgresStore({ pool: stage.pool, maxRecordBytes: 2_000 }) };
    const large = randomBytes(5_000).toString('base64');
    expect(await runOnce(call, (run) => commitWith(run, large as unknown, takeOrder(call.key)))).toBe(large);
    await expect(runOnce(call, () => 'again')).rejects.toThrow(code('RESULT_NOT_STORED'));
    expect(await rows(call.key)).toEqual(['taken']);
  });

  it('over a store that is a spread copy, over one client, and over a schema of its own', async () => {
    const client = await stage.pool.connect();
    await stage.pool.query('CREATE SCHEMA IF NOT EXISTS "O""ther"');
    const other = postgresStore({ pool: stage.pool, schema: 'O"ther', tableName: 'Rec"ords' });
    await other.setUp();
    try {
      for (const store of [{ ...postgresStore({ pool: stage.pool }) }, postgresStore({ client }), other]) {
        const call = { ...guarded(), store };
        await runOnce(call, (run) => commitWith(run, 'value', takeOrder(call.key)));
        expect(await rows(call.key)).toEqual(['taken']);
        expect(await runOnce(call, () => 'again')).toBe('value');
      }
    } finally {
      client.release();
    }
  });

  it('a store of another kind, and wrong options, are refused', async () => {
    await expect(runOnce({ ...guarded(), store: memoryStore() }, (run) => commitWith(run, 1, async () => {}))).rejects.toThrow(/"memory"/);
    const wrong = runOnce(guarded(), (run) => commitWith(run, 1, async () => {}, { isolation: 'none', colour: 1 } as never));
    await expect(wrong).rejects.toThrow(/isolation.*colour/);
  });

  it('I12 connections go back', async () => {
    expect(stage.pool.idleCount).toBe(stage.pool.totalCount);
  });
});
