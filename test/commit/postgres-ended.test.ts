import { beforeEach, describe, expect, it } from 'vitest';
import { PermanentError, runOnce, storeLeases, tryAcquire } from '../../src/index.ts';
import {
  commitWith,
  fencedTransaction,
  postgresStore,
  runInTransaction,
  type Transaction,
  tryRunInTransaction,
} from '../../src/stores/postgres/index.ts';
import { takeOrder, useStage } from './postgres-stage.ts';

const stage = useStage();
const { fresh, rows, records } = stage;
const ENDS = ['COMMIT', 'ROLLBACK', 'COMMIT; BEGIN', 'ROLLBACK; BEGIN'];
const waiting = async (topic: string) => (await stage.pool.query('SELECT id FROM rerunsafe_outbox WHERE topic = $1', [topic])).rows;

describe('work that ends the transaction behind our back', () => {
  let store: ReturnType<typeof postgresStore>;
  beforeEach(() => {
    store = postgresStore({ pool: stage.pool });
  });

  it('I8 over a released record: the record is blocked, and the work is not done twice', async () => {
    const call = fresh();
    await runOnce({ store, operation: call.operation, key: call.key }, () => Promise.reject(new Error('released'))).catch(() => {});
    const hidden = () => runInTransaction(call, (tx) => tx.query(`SELECT 1; ROLLBACK; INSERT INTO orders VALUES ('${call.key}', 'stands')`));
    await expect(hidden()).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await expect(hidden()).rejects.toMatchObject({ code: 'BLOCKED' });
    expect(await rows(call.key)).toEqual(['stands']);
  });

  it('I8 over an expired record, too', async () => {
    const call = fresh();
    await runInTransaction({ ...call, retentionMs: 1 }, () => 1);
    await stage.pool.query('SELECT pg_sleep(0.02)');
    const hidden = () => runInTransaction(call, (tx) => tx.query(`SELECT 1; ROLLBACK; INSERT INTO orders VALUES ('${call.key}', 'stands')`));
    await expect(hidden()).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    await expect(hidden()).rejects.toMatchObject({ code: 'BLOCKED' });
    expect(await rows(call.key)).toEqual(['stands']);
  });

  for (const ends of ENDS) {
    for (const failure of [new Error('mine'), new PermanentError('mine')]) {
      it(`I8 "${ends}" and then a ${failure.name}: blocked as where it returns`, async () => {
        const call = fresh();
        const throwing = runInTransaction(call, async (tx) => {
          await takeOrder(call.key)(tx);
          await tx.query(`SELECT 1; ${ends}`);
          throw failure;
        });
        await expect(throwing).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
        expect(await tryRunInTransaction(call, takeOrder(call.key))).toMatchObject({ kind: 'blocked', why: 'unknown' });
        expect(await rows(call.key)).toEqual(ends.startsWith('COMMIT') ? ['taken'] : []);
        expect(stage.pool.idleCount).toBe(stage.pool.totalCount);
      });
    }

    it(`I1 "${ends}": no message leaves without its run`, async () => {
      const { operation, key, ...call } = fresh();
      await runInTransaction({ ...call, operation, key }, async (tx, run) => {
        run.outbox.add({ topic: `run/${key}`, payload: 1 });
        await tx.query(`SELECT 1; ${ends}`);
      }).catch(() => {});
      await runOnce({ store, operation, key: `${key}-with` }, async (run) => {
        run.outbox.add({ topic: `with/${key}`, payload: 1 });
        await commitWith(run, 1, (tx) => tx.query(`SELECT 1; ${ends}`));
      }).catch(() => {});
      expect([await waiting(`run/${key}`), await waiting(`with/${key}`)]).toEqual([[], []]);
    });

    it(`I4 "${ends}" in a fenced transaction is no success, whether the work returns or throws`, async () => {
      const { key } = fresh();
      const got = await tryAcquire(storeLeases(store), key, { leaseMs: 60_000, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      const { fence } = got.lease;
      const meddling = (after: () => unknown) => async (tx: Transaction) => {
        await tx.query(`SELECT 1; ${ends}`);
        return after();
      };
      const refused = { code: 'INVALID_OPTIONS', message: expect.stringContaining('ended its transaction') };
      await expect(
        fencedTransaction(
          stage.pool,
          fence,
          meddling(() => 'fine'),
        ),
      ).rejects.toMatchObject(refused);
      await expect(
        fencedTransaction(
          stage.pool,
          fence,
          meddling(() => Promise.reject(1)),
        ),
      ).rejects.toMatchObject(refused);
      expect(stage.pool.idleCount).toBe(stage.pool.totalCount);
    });
  }

  it('I4 what is written in a transaction of its own making, unfenced, is not committed', async () => {
    const { key } = fresh();
    const got = await tryAcquire(storeLeases(store), key, { leaseMs: 60_000, renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    const unfenced = fencedTransaction(stage.pool, got.lease.fence, async (tx) => {
      await tx.query('SELECT 1; ROLLBACK; BEGIN');
      await takeOrder(key)(tx);
    });
    await expect(unfenced).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await rows(key)).toEqual([]);
  });

  it('I1 a search path that the work sets is its own: record and messages go where the work began', async () => {
    const call = fresh();
    await stage.pool.query('CREATE SCHEMA tenant');
    await postgresStore({ pool: stage.pool, schema: 'tenant' }).setUp();
    for (const path of ['tenant, public', 'nowhere']) {
      const own = { ...call, key: `${call.key}-${path}` };
      await runInTransaction(own, async (tx, run) => {
        run.outbox.add({ topic: own.key, payload: 1 });
        await takeOrder(own.key)(tx);
        await tx.query(`SET LOCAL search_path = ${path}`);
      });
      await runOnce({ store, operation: call.operation, key: `${own.key}-with` }, async (run) => {
        run.outbox.add({ topic: own.key, payload: 2 });
        await commitWith(run, 1, (tx) => tx.query(`SET LOCAL search_path = ${path}`));
      });
      expect([(await rows(own.key)).length, (await records(own.key)).length, (await waiting(own.key)).length]).toEqual([1, 1, 2]);
    }
  });

  it('I8 a role that the row is hidden from: told so, rolled back, and not blocked', async () => {
    const call = fresh();
    await stage.pool.query(
      'CREATE ROLE hidden_from; GRANT INSERT, SELECT ON orders TO hidden_from; GRANT SELECT, UPDATE ON rerunsafe TO hidden_from',
    );
    await stage.pool.query('ALTER TABLE rerunsafe ENABLE ROW LEVEL SECURITY');
    try {
      const hidden = runInTransaction(call, async (tx) => {
        await tx.query('SET LOCAL ROLE hidden_from');
        return takeOrder(call.key)(tx);
      });
      await expect(hidden).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('row-level security') });
      expect([await rows(call.key), await records(call.key)]).toEqual([[], []]);
    } finally {
      await stage.pool.query('ALTER TABLE rerunsafe DISABLE ROW LEVEL SECURITY; DROP OWNED BY hidden_from; DROP ROLE hidden_from');
    }
  });
});
