/**
 * S2: the nightly load, as somebody starts it.
 *
 * @module
 */
import { type Lease, storeLeases, tryAcquire } from '../../src/index.ts';
import { fencedTransaction, loadStaging, postgresStore, runInTransaction, type Upserted } from '../../src/stores/postgres/index.ts';
import { serve } from '../demo/calls.ts';
import { placeGiven, poolAt } from './place.ts';

type Mode = 'on conflict' | 'merge';

const pool = await poolAt(placeGiven('postgres'));
const TABLES = { from: 'sales_staging', into: 'sales', key: ['day', 'shop'] } as const;
let lease: Lease | undefined;

const { log } = serve({
  insertSelect: async () => void (await pool.query('INSERT INTO sales_plain (day, shop, total) SELECT day, shop, total FROM sales_staging')),

  /** The load and the record of the night in one transaction. `waits`: all is written, and not committed. */
  async load({ night, mode, waits = false }: { night: string; mode: Mode; waits?: boolean }): Promise<Upserted> {
    return runInTransaction({ pool, operation: 'load/sales', key: night }, async (tx) => {
      const loaded = await loadStaging(tx, { ...TABLES, mode });
      log('loaded');
      if (waits) await new Promise(() => {});
      return loaded;
    });
  },

  async hold({ leaseMs }: { leaseMs: number }): Promise<number | string> {
    const got = await tryAcquire(storeLeases(postgresStore({ pool })), 'load/sales', { leaseMs, renew: 'none' });
    if (got.kind !== 'acquired') return got.kind;
    lease = got.lease;
    return lease.token;
  },

  /** Each row keeps the token that wrote it; no record of the night here, so that the rows alone are what is seen. */
  async loadFenced({ mode }: { mode: Mode }): Promise<Upserted> {
    const { fence } = lease ?? {};
    if (fence === undefined) throw new Error('no lease');
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const loaded = await loadStaging(client, { ...TABLES, mode, fence });
      await client.query('COMMIT');
      return loaded;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  },

  /** The lease itself is asked: no column is needed. */
  async loadUnderLease({ mode }: { mode: Mode }): Promise<Upserted> {
    const { fence } = lease ?? {};
    if (fence === undefined) throw new Error('no lease');
    return fencedTransaction(pool, fence, (tx) => loadStaging(tx, { ...TABLES, mode }));
  },
});
