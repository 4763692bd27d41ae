/**
 * A database with the store's table, leases kept in it, and tables of the caller's.
 *
 * @module
 */
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { leaseRowId } from '../../src/core/store-leases.ts';
import { type Lease, type LeaseProvider, storeLeases, tryAcquire } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { startPostgres } from '../support/postgres.ts';

export const LONG_MS = 60_000;

type Server = Awaited<ReturnType<typeof startPostgres>>;

export interface FencedStage {
  readonly url: string;
  readonly pool: Pool;
  readonly leases: LeaseProvider;
  /** Of the server: 180004. */
  readonly version: number;
  database(settings?: Readonly<Record<string, string>>): ReturnType<Server['database']>;
  /** A name that nothing else has. */
  fresh(name: string): string;
  /** Makes a table, and gives back its name: `table('report', 'id int PRIMARY KEY')`. */
  table(name: string, columns: string): Promise<string>;
  rows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  taken(name: string, leaseMs?: number): Promise<Lease>;
  takenOver(name: string): Promise<Lease>;
  /** Until somebody waits for a lock. */
  waits(): Promise<void>;
  /** A transaction that has written the row of a lease, and is not over. */
  inTheWay(name: string, change: string): Promise<{ commit(): Promise<void> }>;
}

export function fencedStage(): FencedStage {
  let server: Server;
  let count = 0;
  const stage: { -readonly [K in keyof FencedStage]: FencedStage[K] } = {
    database: (settings) => server.database(settings),
    fresh: (name) => `${name}_${++count}`,
    async table(name, columns) {
      const made = stage.fresh(name);
      await stage.pool.query(`CREATE TABLE ${made} (${columns})`);
      return made;
    },
    rows: async (sql, values) => (await stage.pool.query(sql, values)).rows,
    async taken(name, leaseMs = LONG_MS) {
      const got = await tryAcquire(stage.leases, name, { leaseMs, renew: 'none' });
      if (got.kind !== 'acquired') throw new Error(`the lease is ${got.kind}`);
      return got.lease;
    },
    async takenOver(name) {
      await stage.leases.break(name);
      return stage.taken(name);
    },
    waits: () =>
      vi.waitFor(
        async () =>
          expect(await stage.rows("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")).not.toEqual([]),
        5_000,
      ),
    async inTheWay(name, change) {
      const other = await stage.pool.connect();
      await other.query('BEGIN');
      await other.query(`UPDATE rerunsafe SET ${change} WHERE id = $1`, [leaseRowId(name)]);
      return {
        async commit() {
          await other.query('COMMIT');
          other.release();
        },
      };
    },
  } as FencedStage;
  beforeAll(async () => {
    server = await startPostgres();
    const database = await server.database();
    stage.url = database.url;
    stage.pool = database.pool(40);
    const store = postgresStore({ pool: stage.pool });
    await store.setUp();
    stage.leases = storeLeases(store);
    stage.version = Number((await stage.rows('SHOW server_version_num'))[0]?.server_version_num);
  }, 120_000);
  afterAll(() => server?.stop(), 60_000);
  return stage;
}
