/**
 * A holder in a process of its own, which is not careful: it writes whether or not it still holds.
 *
 * @module
 */
import { Pool } from 'pg';
import { serve } from '../../scripts/demo/calls.ts';
import { storeLeases, tryAcquire } from '../../src/index.ts';
import { fencedTransaction, postgresStore, upsert } from '../../src/stores/postgres/index.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import type { Holding } from './postgres-task.ts';

const pool = new Pool({ connectionString: process.env.URL, max: 4 });
// The server ends a connection of a process that does not hear of it.
pool.on('error', () => {});
const leases = storeLeases(postgresStore({ pool }));
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

const { log } = serve({
  async hold({ name, leaseMs, table, form, idleTimeoutMs }: Holding): Promise<string> {
    const got = await tryAcquire(leases, name, { leaseMs, renew: 'none' });
    if (got.kind !== 'acquired') throw new Error(got.kind);
    const { fence } = got.lease;
    const row = { id: 1, by: 'the old one' };
    const write = async (): Promise<void> => {
      if (form === 'row') await inTransaction(pool, {}, (tx) => upsert(tx, { table, key: ['id'], rows: [row], fence }).then(() => {}));
      if (form === 'lease') await fencedTransaction(pool, fence, (tx) => upsert(tx, { table, key: ['id'], rows: [row] }));
      if (form !== 'in the middle') return;
      await fencedTransaction(
        pool,
        fence,
        async (tx) => {
          await upsert(tx, { table, key: ['id'], rows: [row] });
          log('holds');
          await turn();
          await tx.query('SELECT 1');
        },
        idleTimeoutMs === undefined ? {} : { idleTimeoutMs },
      );
    };
    if (form !== 'in the middle') {
      log('holds');
      await turn();
    }
    return write().then(
      () => 'written',
      (error: { code?: string }) => String(error.code ?? error),
    );
  },
});
