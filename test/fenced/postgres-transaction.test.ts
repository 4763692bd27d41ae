import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Lease, runOnce, storeLeases, tryAcquire } from '../../src/index.ts';
import { fenced, fencedTransaction, postgresStore, type Transaction } from '../../src/stores/postgres/index.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage, LONG_MS } from './postgres-stage.ts';

describe.runIf(await postgresAvailable())('fenced transactions on PostgreSQL', () => {
  const stage = fencedStage();
  let name: string;
  let report: string;
  beforeEach(async () => {
    name = stage.fresh('nightly');
    report = await stage.table('report', 'total int NOT NULL');
  });
  const add =
    (total: number | null) =>
    (tx: Transaction): Promise<unknown> =>
      tx.query(`INSERT INTO ${report} VALUES ($1)`, [total]);
  const totals = async () => (await stage.rows(`SELECT total FROM ${report} ORDER BY total`)).map(({ total }) => total);
  const stale = ({ fence }: Lease, { token }: Lease) => ({
    code: 'STALE_TOKEN',
    retryable: false,
    facts: { id: fence.id, token: fence.token, storedToken: token },
  });

  describe('who may write', () => {
    it('the holder of a lease commits what its work wrote and returned', async () => {
      const { fence } = await stage.taken(name);
      const value = await fencedTransaction(stage.pool, fence, async (tx) => {
        await add(7)(tx);
        return (await tx.query<{ total: number }>(`SELECT total FROM ${report}`)).rows[0]?.total;
      });
      expect(value).toBe(7);
      expect(await totals()).toEqual([7]);
    });

    it('S6 I4 whoever was overtaken is refused with both tokens, and its work does not even begin', async () => {
      const old = await stage.taken(name);
      const next = await stage.takenOver(name);
      const work = vi.fn();
      await expect(fencedTransaction(stage.pool, old.fence, work)).rejects.toMatchObject(stale(old, next));
      expect(work).not.toHaveBeenCalled();
      await fencedTransaction(stage.pool, next.fence, add(1));
      expect(await totals()).toEqual([1]);
    });

    it('I4 a break fences the holder at once, before anybody else has come', async () => {
      const old = await stage.taken(name);
      await stage.leases.break(name);
      await expect(fencedTransaction(stage.pool, old.fence, add(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it('I4 the token alone is not enough: who holds it is asked too', async () => {
      const { fence } = await stage.taken(name);
      await expect(fencedTransaction(stage.pool, { ...fence, owner: 'another' }, add(1))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await totals()).toEqual([]);
    });

    it("a lease that has run out or was released is still its last holder's, until somebody takes it", async () => {
      const old = await stage.taken(name, 100);
      await vi.waitFor(async () => expect((await stage.leases.read(name))?.held).toBe(false));
      await fencedTransaction(stage.pool, old.fence, add(1));
      const next = await stage.taken(name);
      await next.release();
      await fencedTransaction(stage.pool, next.fence, add(2));
      await stage.taken(name);
      for (const lease of [old, next])
        await expect(fencedTransaction(stage.pool, lease.fence, add(3))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      expect(await totals()).toEqual([1, 2]);
    });

    it('a fence that has travelled in a message fences its receiver, with whatever travelled beside it', async () => {
      const fence = JSON.parse(JSON.stringify({ ...(await stage.taken(name)).fence, trace: 'x' }));
      await fencedTransaction(stage.pool, fence, add(1));
      await stage.takenOver(name);
      await expect(fencedTransaction(stage.pool, fence, add(2))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    });

    it('I4 a run writes by its own fence, and not any more when a successor has taken its record', async () => {
      const store = postgresStore({ pool: stage.pool });
      const options = { store, operation: 'report', key: name };
      let successor: Promise<unknown> = Promise.resolve();
      const first = runOnce({ ...options, leaseMs: 100, renew: 'none' }, async ({ fence }) => {
        if (fence === undefined) throw new Error('unguarded');
        await fencedTransaction(stage.pool, fence, add(1));
        successor = vi.waitFor(() => runOnce(options, (run) => fencedTransaction(stage.pool, run.fence as never, add(2))), { timeout: 5_000 });
        await successor;
        await expect(fencedTransaction(stage.pool, fence, add(3))).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      });
      await first.catch(() => {});
      await successor;
      expect(await totals()).toEqual([1, 2]);
    });
  });

  describe('what goes wrong', () => {
    it("what the work throws comes through as it is, PostgreSQL's own errors too, and nothing is left of its writes", async () => {
      const { fence } = await stage.taken(name);
      const thrown = new Error('mine');
      const throwing = async (tx: Transaction): Promise<void> => {
        await add(1)(tx);
        throw thrown;
      };
      await expect(fencedTransaction(stage.pool, fence, throwing)).rejects.toBe(thrown);
      await expect(fencedTransaction(stage.pool, fence, add(null))).rejects.toMatchObject({ code: '23502' });
      expect(await totals()).toEqual([]);
    });

    it("a constraint that is checked at the commit is the caller's own error as well", async () => {
      const { fence } = await stage.taken(name);
      await stage.pool.query(`ALTER TABLE ${report} ADD UNIQUE (total) DEFERRABLE INITIALLY DEFERRED`);
      const twice = async (tx: Transaction): Promise<void> => {
        await add(1)(tx);
        await add(1)(tx);
      };
      await expect(fencedTransaction(stage.pool, fence, twice)).rejects.toMatchObject({ code: '23505' });
      expect(await totals()).toEqual([]);
    });

    it('work that goes on after a failed statement, or ends the transaction itself, is told so: nothing was written', async () => {
      const { fence } = await stage.taken(name);
      const careless = async (tx: Transaction): Promise<void> => {
        await add(1)(tx);
        await add(null)(tx).catch(() => {});
      };
      await expect(fencedTransaction(stage.pool, fence, careless)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', cause: { code: '23502' } });
      for (const statement of ['COMMIT', 'ROLLBACK']) {
        const ending = fencedTransaction(stage.pool, fence, (tx) => add(1)(tx).then(() => tx.query(statement)));
        await expect(ending).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      }
      expect(await totals()).toEqual([]);
    });

    it('I8 I10 a row that somebody else has locked is waited for within lockTimeoutMs, then it is STORE_UNAVAILABLE and nothing was run', async () => {
      const { fence } = await stage.taken(name);
      const other = await stage.inTheWay(name, "revision = 'renewed'");
      const work = vi.fn();
      for (const options of [{ lockTimeoutMs: 30 }, { statementTimeoutMs: 30 }]) {
        await expect(fencedTransaction(stage.pool, fence, work, options)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      }
      expect(work).not.toHaveBeenCalled();
      await other.commit();
    });

    it('I12 a wait for a connection ends with the signal, and no connection is lost on any of these paths', async () => {
      const old = await stage.taken(name);
      const pool = (await stage.database()).pool(1);
      const one = postgresStore({ pool, tableName: 'leases' });
      await one.setUp();
      const leases = storeLeases(one);
      const got = await tryAcquire(leases, name, { leaseMs: LONG_MS, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      const { fence } = got.lease;
      const place = { tableName: 'leases' };
      const busy = await pool.connect();
      const cancel = new AbortController();
      const waiting = fencedTransaction(pool, fence, async () => {}, { ...place, signal: cancel.signal });
      cancel.abort(new Error('enough'));
      await expect(waiting).rejects.toBe(cancel.signal.reason);
      busy.release();
      await expect(fencedTransaction(pool, old.fence, async () => {}, place)).rejects.toMatchObject({ code: 'STALE_TOKEN' });
      await expect(fencedTransaction(pool, fence, (tx) => tx.query('SELECT 1 / 0'), place)).rejects.toMatchObject({ code: '22012' });
      await expect(fencedTransaction(pool, fence, async () => {})).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
      expect(await fencedTransaction(pool, fence, async () => 'done', place)).toBe('done');
      expect({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }).toEqual({ total: 1, idle: 1, waiting: 0 });
    });

    it('I8 no such table, nothing under that name, and a role that may not lock it are STORE_MISCONFIGURED', async () => {
      const { fence } = await stage.taken(name);
      const misconfigured = { code: 'STORE_MISCONFIGURED' };
      await expect(fencedTransaction(stage.pool, fence, add(1), { tableName: 'leases' })).rejects.toMatchObject(misconfigured);
      await expect(fencedTransaction(stage.pool, { ...fence, id: 'never taken' }, add(1))).rejects.toMatchObject(misconfigured);
      const reader = stage.fresh('reader');
      await stage.pool.query(`CREATE ROLE ${reader}; GRANT SELECT ON rerunsafe TO ${reader}`);
      const client = await stage.pool.connect();
      try {
        await client.query(`SET ROLE ${reader}; BEGIN`);
        await expect(fenced(client, fence)).rejects.toMatchObject(misconfigured);
      } finally {
        await client.query('ROLLBACK; RESET ROLE');
        client.release();
        await stage.pool.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
      }
      expect(await totals()).toEqual([]);
    });

    it('the table of the store can have another name, in another schema', async () => {
      const place = { schema: 'Our "leases"', tableName: 'Fences' };
      const store = postgresStore({ pool: stage.pool, ...place });
      await store.setUp();
      const got = await tryAcquire(storeLeases(store), name, { leaseMs: LONG_MS, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(got.kind);
      await fencedTransaction(stage.pool, got.lease.fence, add(1), place);
      expect(await totals()).toEqual([1]);
    });
  });
});
