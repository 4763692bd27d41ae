import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fenced, fencedTransaction, type Transaction } from '../../src/stores/postgres/index.ts';
import { postgresAvailable } from '../support/postgres.ts';
import { fencedStage, LONG_MS } from './postgres-stage.ts';

const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;

describe.runIf(await postgresAvailable())('a lease that is held to the end of a transaction on PostgreSQL', () => {
  const stage = fencedStage();
  let name: string;
  let report: string;
  beforeEach(async () => {
    name = stage.fresh('nightly');
    report = await stage.table('report', 'total int NOT NULL');
  });
  const add =
    (total: number) =>
    (tx: Transaction): Promise<unknown> =>
      tx.query(`INSERT INTO ${report} VALUES ($1)`, [total]);
  const totals = async () => (await stage.rows(`SELECT total FROM ${report} ORDER BY total`)).map(({ total }) => total);

  describe.each(LEVELS)('one transaction, %s', (isolation) => {
    it('S6 I4 nobody takes the lease between the check and the commit: a takeover waits, and its holder then reads everything', async () => {
      const { fence } = await stage.taken(name);
      let taken = false;
      const takeover = fencedTransaction(
        stage.pool,
        fence,
        async (tx) => {
          const next = stage.takenOver(name).then(async () => {
            taken = true;
            return totals();
          });
          await stage.waits();
          await add(1)(tx);
          expect(taken).toBe(false);
          return { next };
        },
        { isolation },
      );
      expect(await (await takeover).next).toEqual([1]);
    });

    it('I4 a takeover that is under way is waited for, and refuses', async () => {
      const old = await stage.taken(name);
      const other = await stage.inTheWay(name, "owner = 'another', token = token + 1");
      const work = vi.fn();
      const writing = fencedTransaction(stage.pool, old.fence, work, { isolation });
      await stage.waits();
      await other.commit();
      await expect(writing).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: old.token + 1 } });
      expect(work).not.toHaveBeenCalled();
    });

    it("the holder's own renewal that is under way is waited for, and is in nobody's way", async () => {
      const { fence } = await stage.taken(name);
      const other = await stage.inTheWay(name, "revision = 'renewed'");
      const writing = fencedTransaction(stage.pool, fence, add(1), { isolation });
      await stage.waits();
      await other.commit();
      await writing;
      expect(await totals()).toEqual([1]);
    });

    it('several writers of one holder write side by side, and its renewal waits for them', async () => {
      const lease = await stage.taken(name);
      let inside = 0;
      const both = [1, 2].map((total) =>
        fencedTransaction(
          stage.pool,
          lease.fence,
          async (tx) => {
            inside += 1;
            await vi.waitFor(() => expect(inside).toBe(2));
            if (total === 1) await stage.waits();
            await add(total)(tx);
          },
          { isolation },
        ),
      );
      await vi.waitFor(() => expect(inside).toBe(2));
      await lease.renew();
      await Promise.all(both);
      expect(lease.remainingMs()).toBeGreaterThan(LONG_MS / 2);
      expect(await totals()).toEqual([1, 2]);
    });
  });

  describe('in a transaction that is open already', () => {
    it('S6 I4 the lease is held from the check to the end of that transaction, and a stale holder is refused', async () => {
      const old = await stage.taken(name);
      const client = await stage.pool.connect();
      await client.query('BEGIN');
      await fenced(client, old.fence);
      await client.query(`INSERT INTO ${report} VALUES (1)`);
      const next = stage.takenOver(name).then(async (lease) => ({ lease, seen: await totals() }));
      await stage.waits();
      await client.query('COMMIT');
      const { lease, seen } = await next;
      expect(seen).toEqual([1]);
      await client.query('BEGIN');
      await expect(fenced(client, old.fence)).rejects.toMatchObject({ code: 'STALE_TOKEN', facts: { storedToken: lease.token } });
      await client.query('ROLLBACK');
      client.release();
    });

    it('I4 a pool, or a connection with no transaction, is refused: the lock would be gone before the write', async () => {
      const { fence } = await stage.taken(name);
      const client = await stage.pool.connect();
      for (const tx of [stage.pool, client]) await expect(fenced(tx, fence)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      client.release();
    });

    it('a row that was changed after a REPEATABLE READ transaction began is 40001: all of it has to be done again', async () => {
      const lease = await stage.taken(name);
      const client = await stage.pool.connect();
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
      await lease.renew();
      await expect(fenced(client, lease.fence)).rejects.toMatchObject({ code: '40001' });
      await client.query('ROLLBACK');
      client.release();
    });
  });
});
