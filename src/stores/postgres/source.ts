/**
 * Where connections come from: the caller's pool, one client of the caller's, or a small pool of our own, made at the first call.
 *
 * @module
 */
import type { Pool, PoolConfig } from 'pg';
import { storeMisconfigured } from '../../core/errors.ts';
import { loadPackage } from '../../core/load-package.ts';
import type { PoolClientLike, PoolLike, Queryable } from './query.ts';

export interface Source {
  take(): Promise<PoolClientLike>;
  close(): Promise<void>;
}

export const givenPool = (pool: PoolLike): Source => ({ take: () => pool.connect(), close: async () => {} });

/** Newer versions of `pg` 8 tell in which state a connection is. */
interface KnowsItsTransaction {
  getTransactionStatus?(): string | null;
}

/**
 * One statement after the other: `pg` gives up queueing them. Refused inside of a transaction of the caller's: a record written there would be gone
 * with its rollback, although its work was answered with a value.
 */
export function givenClient(client: Queryable): Source {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async take() {
      const before = last;
      let free = (): void => {};
      last = new Promise<void>((resolve) => {
        free = resolve;
      });
      await before;
      const status = (client as KnowsItsTransaction).getTransactionStatus?.();
      if (status === 'T' || status === 'E') {
        free();
        throw storeMisconfigured(
          'the client is inside of a transaction. A record written there is gone when that is rolled back, and then the work runs again: give the store a pool, or a client of its own; runInTransaction commits both together.',
        );
      }
      let pending: Promise<unknown> = Promise.resolve();
      return {
        query(text, values) {
          const answer = client.query(text, values);
          pending = answer.catch(() => {});
          return answer;
        },
        // The connection is not ours to throw away. A statement that nobody waits for any more is still under way on it.
        release: () => void pending.then(free),
      };
    },
    close: async () => {},
  };
}

export interface OwnPoolOptions {
  readonly connectionString: string | undefined;
  readonly maxConnections: number;
  readonly connectLimitMs: number;
}

export function ownPool({ connectionString, maxConnections, connectLimitMs }: OwnPoolOptions): Source {
  let opening: Promise<Pool> | undefined;
  const open = async (): Promise<Pool> => {
    const { default: pg } = await loadPackage('pg', () => import('pg'));
    const pool = new pg.Pool({
      ...whereTo(connectionString),
      max: maxConnections,
      connectionTimeoutMillis: connectLimitMs,
      // A script ends although connections are open, and an instance that idles gives them back.
      allowExitOnIdle: true,
      idleTimeoutMillis: 10_000,
      keepAlive: true,
    });
    // The server may end an idle connection at any time; the pool has dropped it by then, and an event that nobody hears would end the process.
    pool.on('error', () => {});
    return pool;
  };
  return {
    async take() {
      opening ??= open();
      try {
        return await (await opening).connect();
      } catch (error) {
        // A package that could not be loaded, a variable that was not set: look again next time.
        if (opening !== undefined)
          opening.catch(() => {
            opening = undefined;
          });
        throw error;
      }
    },
    async close() {
      const closing = opening;
      opening = undefined;
      await (await closing?.catch(() => undefined))?.end();
    },
  };
}

/** Never a guess: `pg` alone would look on localhost. */
function whereTo(connectionString: string | undefined): PoolConfig {
  const { DATABASE_URL, PGHOST } = process.env;
  if (connectionString !== undefined) return { connectionString };
  if (DATABASE_URL !== undefined && DATABASE_URL !== '') return { connectionString: DATABASE_URL };
  if (PGHOST !== undefined && PGHOST !== '') return {};
  throw storeMisconfigured('it is not said where the database is. Give postgresStore a pool or a connectionString, or set DATABASE_URL or PGHOST.');
}
