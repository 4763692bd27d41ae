import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runInTransaction } from '../../src/stores/postgres/index.ts';
import { gate, takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;

describe('runInTransaction: what PostgreSQL rolls back', () => {
  it('I1 work that goes on after a failed statement, without a savepoint, is no success', async () => {
    const call = fresh();
    const failed = runInTransaction(call, async (tx) => {
      await takeOrder(call.key)(tx);
      await tx.query('SELECT 1 / 0').catch(() => {});
      return 'fine';
    });
    await expect(failed).rejects.toMatchObject({ code: 'INVALID_OPTIONS', cause: expect.objectContaining({ code: '22012' }) });
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
  });

  it('I1 work that rolls back to its own savepoint goes on', async () => {
    const call = fresh();
    await runInTransaction(call, async (tx) => {
      await tx.query('SAVEPOINT mine');
      await tx.query('SELECT 1 / 0').catch(() => {});
      await tx.query('ROLLBACK TO SAVEPOINT mine');
      return takeOrder(call.key)(tx);
    });
    expect(await rows(call.key)).toEqual(['taken']);
  });

  for (const swallowed of [false, true]) {
    it(`I1 a serialization failure in the work runs all of it again (${swallowed ? 'swallowed' : 'thrown'})`, async () => {
      const call = fresh({ isolation: 'repeatable read' });
      await stage.pool.query("INSERT INTO orders VALUES ($1, 'stock')", [`${call.key}-stock`]);
      let tries = 0;
      const value = await runInTransaction(call, async (tx) => {
        tries += 1;
        await tx.query('SELECT * FROM orders WHERE key = $1', [`${call.key}-stock`]);
        if (tries === 1) await stage.pool.query("UPDATE orders SET value = 'sold' WHERE key = $1", [`${call.key}-stock`]);
        const update = tx.query("UPDATE orders SET value = value || '!' WHERE key = $1", [`${call.key}-stock`]);
        await (swallowed ? update.catch(() => {}) : update);
        return tries;
      });
      expect([value, tries]).toEqual([2, 2]);
      expect(await rows(`${call.key}-stock`)).toEqual(['sold!']);
    });
  }

  it('I1 a serialization failure wrapped by a query builder, too', async () => {
    const call = fresh({ isolation: 'repeatable read' });
    await stage.pool.query("INSERT INTO orders VALUES ($1, 'stock')", [`${call.key}-stock`]);
    let tries = 0;
    await runInTransaction(call, async (tx) => {
      tries += 1;
      await tx.query('SELECT 1');
      if (tries === 1) await stage.pool.query("UPDATE orders SET value = 'sold' WHERE key = $1", [`${call.key}-stock`]);
      await tx.query("UPDATE orders SET value = 'mine' WHERE key = $1", [`${call.key}-stock`]).catch((cause: unknown) => {
        throw new Error('query failed', { cause });
      });
    });
    expect(tries).toBe(2);
  });

  it('I1 write skew that is found out at COMMIT runs one of the two again', async () => {
    const keys = [fresh({ isolation: 'serializable' }), fresh({ isolation: 'serializable' })];
    const group = `${keys[0]?.key}-group`;
    const both = [gate(), gate()];
    let tries = 0;
    await Promise.all(
      keys.map((call, mine) =>
        runInTransaction(call, async (tx) => {
          tries += 1;
          const { rows: on } = await tx.query('SELECT value FROM orders WHERE key = $1', [group]);
          both[mine]?.open();
          await both[1 - mine]?.opened;
          if (on.length === 0) await tx.query('INSERT INTO orders VALUES ($1, $2)', [group, String(mine)]);
        }),
      ),
    );
    expect(tries).toBe(3);
    expect(await rows(group)).toHaveLength(1);
  });

  it('I1 a deadlock runs the one that lost it again', async () => {
    const keys = [fresh(), fresh()];
    for (const { key } of keys) await stage.pool.query("INSERT INTO orders VALUES ($1, '')", [`${key}-stock`]);
    const both = [gate(), gate()];
    let tries = 0;
    await Promise.all(
      keys.map((call, mine) =>
        runInTransaction(call, async (tx) => {
          tries += 1;
          const update = (n: number) => tx.query("UPDATE orders SET value = value || 'x' WHERE key = $1", [`${keys[n]?.key}-stock`]);
          await update(mine);
          both[mine]?.open();
          await both[1 - mine]?.opened;
          await update(1 - mine);
        }),
      ),
    );
    expect(tries).toBe(3);
    expect(await rows(`${keys[0]?.key}-stock`)).toEqual(['xx']);
  });

  it('I10 conflicts that do not end are STORE_UNAVAILABLE after maxTries, and nothing was written', async () => {
    const call = fresh({ isolation: 'repeatable read', maxTries: 3 });
    await stage.pool.query("INSERT INTO orders VALUES ($1, '')", [`${call.key}-stock`]);
    let tries = 0;
    const hopeless = runInTransaction(call, async (tx) => {
      tries += 1;
      await stage.pool.query('UPDATE orders SET value = $2 WHERE key = $1', [`${call.key}-stock`, String(tries)]);
      await tx.query("UPDATE orders SET value = 'mine' WHERE key = $1", [`${call.key}-stock`]);
    });
    await expect(hopeless).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: expect.objectContaining({ code: '40001' }) });
    expect(tries).toBe(3);
    expect(await records(call.key)).toEqual([]);
  });

  it('I8 a deferred constraint that fails at COMMIT comes out untouched, and nothing stays', async () => {
    const call = fresh();
    await stage.pool.query('CREATE TABLE IF NOT EXISTS seats (seat int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const twice = runInTransaction(call, async (tx) => {
      await takeOrder(call.key)(tx);
      await tx.query('INSERT INTO seats VALUES (1), (1)');
    });
    await expect(twice).rejects.toMatchObject({ code: '23505' });
    expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
  });

  it("I8 a lock limit in the work's own statements is its own error, and waitMs is not its limit", async () => {
    const call = fresh({ waitMs: 100 });
    const key = `${call.key}-stock`;
    await stage.pool.query("INSERT INTO orders VALUES ($1, '')", [key]);
    const holder = await stage.pool.connect();
    await holder.query('BEGIN');
    await holder.query("UPDATE orders SET value = 'held' WHERE key = $1", [key]);
    const update = "UPDATE orders SET value = value || '!' WHERE key = $1";
    const own = runInTransaction(call, async (tx) => {
      await tx.query("SET LOCAL lock_timeout = '50ms'");
      await tx.query(update, [key]);
    });
    await expect(own).rejects.toMatchObject({ code: '55P03' });
    const patient = runInTransaction(call, (tx) => tx.query(update, [key]));
    await sleep(400);
    await holder.query('COMMIT');
    holder.release();
    await patient;
    expect(await rows(key)).toEqual(['held!']);
  });

  it('I10 statementTimeoutMs is the limit of each statement of the work', async () => {
    const call = fresh({ statementTimeoutMs: 50 });
    await expect(runInTransaction(call, (tx) => tx.query('SELECT pg_sleep(5)'))).rejects.toMatchObject({ code: '57014' });
  });

  it('I10 a caller that says nothing for idleTimeoutMs is ended by the server, and its key is free', async () => {
    const call = fresh();
    const silent = runInTransaction({ ...call, idleTimeoutMs: 100 }, async (tx) => {
      await takeOrder(call.key)(tx);
      await sleep(400);
      return takeOrder(call.key)(tx);
    });
    await expect(silent).rejects.toThrow();
    expect(await runInTransaction(call, takeOrder(call.key, 'second'))).toEqual({ value: 'second' });
    expect(await rows(call.key)).toEqual(['second']);
  });
});
