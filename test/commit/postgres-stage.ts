/**
 * A database with the record table and a business table, for tests of one transaction.
 *
 * @module
 */
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { postgresStore, type RunInTransactionOptions } from '../../src/stores/postgres/index.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

export interface Stage {
  readonly server: PostgresServer;
  readonly url: string;
  readonly pool: pg.Pool;
  /** Another pool on the same database, closed with the stage. */
  poolOf(config?: pg.PoolConfig): pg.Pool;
  /** Options for a key of its own. */
  fresh(more?: Partial<RunInTransactionOptions>): RunInTransactionOptions & { readonly key: string };
  /** What the business table says of a key. */
  rows(key: unknown): Promise<string[]>;
  records(key: unknown): Promise<Record<string, unknown>[]>;
}

/** No unique key: that a second row does not come must be our doing. */
const ORDERS = 'CREATE TABLE orders (key text NOT NULL, value text NOT NULL)';
let keys = 0;

export function useStage(options: Parameters<typeof startPostgres>[0] = {}): Stage {
  let server: PostgresServer;
  let database: Awaited<ReturnType<PostgresServer['database']>>;
  let pool: pg.Pool;
  const pools = new Set<pg.Pool>();
  const poolOf = (config: pg.PoolConfig = {}): pg.Pool => {
    const made = new pg.Pool({ connectionString: database.url, max: 10, connectionTimeoutMillis: 30_000, ...config });
    // Of idle connections, when the server goes down.
    made.on('error', () => {});
    pools.add(made);
    return made;
  };
  beforeAll(async () => {
    server = await startPostgres(options);
    database = await server.database();
    pool = poolOf();
    await postgresStore({ pool }).setUp();
    await pool.query(ORDERS);
  }, 60_000);
  afterAll(async () => {
    for (const each of pools) await each.end();
    await server?.stop();
  }, 60_000);
  return {
    get server() {
      return server;
    },
    get url() {
      return database.url;
    },
    get pool() {
      return pool;
    },
    poolOf,
    fresh: (more = {}) => ({ pool, operation: 'orders/take', key: `order-${process.pid}-${keys++}`, ...more }) as never,
    rows: async (key) => (await pool.query('SELECT value FROM orders WHERE key = $1', [key])).rows.map(({ value }) => value as string),
    records: async (key) => (await pool.query('SELECT * FROM rerunsafe WHERE label = $1', [key])).rows,
  };
}

/** The usual work: one row. */
export const takeOrder =
  (key: unknown, value = 'taken') =>
  async (tx: { query(text: string, values: unknown[]): Promise<unknown> }): Promise<{ value: string }> => {
    await tx.query('INSERT INTO orders (key, value) VALUES ($1, $2)', [key, value]);
    return { value };
  };

/** A promise and what settles it. */
export function gate(): { opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
