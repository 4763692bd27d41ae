/**
 * One transaction on one connection of the pool.
 *
 * @module
 */
import { RerunSafeError, writeUnknown } from '../../core/errors.ts';
import { isOneOf } from '../../core/options.ts';
import { unlessAborted } from '../../core/system.ts';
import { isSerializationFailure, mapError } from './map-error.ts';
import type { PoolClientLike, PoolLike } from './query.ts';
import { type Answer, codeOf, type Session, sessionOn, type Transaction } from './session.ts';

export type { Transaction };

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';
export const isIsolation = isOneOf('read committed', 'repeatable read', 'serializable');
/** The server takes no more. */
export const MOST_MS = 2_147_483_647;

/** All that is asked of a pool here. */
export type Connects = Pick<PoolLike, 'connect'>;

export interface TransactionOptions {
  /** Default: what the database has. */
  readonly isolation?: Isolation | undefined;
  /** The longest wait for each lock, ms, then SQLSTATE 55P03. Default: what the connection has. */
  readonly lockTimeoutMs?: number | undefined;
  /** The longest time for each statement, ms, then SQLSTATE 57014. Default: what the connection has. */
  readonly statementTimeoutMs?: number | undefined;
  /** After so long without a statement the server ends connection and transaction, ms: a caller that froze or was cut off holds its rows no longer. Default 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Ends the wait for a connection. What has begun is finished. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
const ROLLBACK_LIMIT_MS = 5_000;

/** What the connection had before: the texts of SHOW, `5s`, `0`. */
export interface UsualLimits {
  readonly lockTimeout: unknown;
  readonly statementTimeout: unknown;
}
const USUAL = ['SHOW lock_timeout', 'SHOW statement_timeout'];

/**
 * BEGIN, `body`, COMMIT; ROLLBACK when `body` throws. One connection, never two, and it goes back to the pool on every path, or is thrown away where
 * it is broken.
 *
 * @throws what `body` throws, untouched; the error of a COMMIT that PostgreSQL refused (a deferred constraint, 40001), untouched; `STORE_UNAVAILABLE`
 * or `STORE_MISCONFIGURED`: nothing was begun; `WRITE_UNKNOWN`: the connection was lost during COMMIT; `INVALID_OPTIONS`: a statement had failed,
 * and `body` went on without a savepoint, so PostgreSQL rolled everything back. Where that statement had failed for a conflict with another
 * transaction (40001, 40P01), its error is thrown.
 */
export async function inTransaction<T>(
  pool: Connects,
  options: TransactionOptions,
  body: (tx: Transaction, session: Session, usual: UsualLimits) => Promise<T>,
): Promise<T> {
  options.signal?.throwIfAborted();
  const session = sessionOn(await connection(pool, options.signal));
  try {
    const usual = await begin(session, options);
    let value: T;
    try {
      value = await body(session.tx, session, usual);
    } catch (error) {
      session.end();
      // Behind a statement that was given up it would wait for that; the end of the connection rolls back as well.
      if (!session.discarded) await session.own('ROLLBACK', undefined, { limitMs: ROLLBACK_LIMIT_MS }).catch(session.discard);
      throw error;
    }
    session.end();
    await commit(session);
    return value;
  } finally {
    session.release();
  }
}

/** A wait that is given up must not keep the connection that it gets later. */
async function connection(pool: Connects, signal: AbortSignal | undefined): Promise<PoolClientLike> {
  const connecting = pool.connect();
  try {
    return await (signal === undefined ? connecting : unlessAborted(connecting, signal));
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    signal?.throwIfAborted();
    throw mapError(error, 'connect', false);
  }
}

async function begin(session: Session, options: TransactionOptions): Promise<UsualLimits> {
  const { isolation, lockTimeoutMs, statementTimeoutMs, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
  const limits = { lock_timeout: lockTimeoutMs, statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: idleTimeoutMs };
  const set = Object.entries(limits).flatMap(([name, ms]) => (ms === undefined ? [] : [`SET LOCAL ${name} = ${Math.ceil(ms)}`]));
  try {
    // Several statements in one round trip are answered by an array.
    const answers = (await session.own([`BEGIN${level}`, ...USUAL, ...set].join('; '))) as unknown as readonly Answer[];
    const [lockTimeout, statementTimeout] = [answers[1]?.rows[0]?.lock_timeout, answers[2]?.rows[0]?.statement_timeout];
    return { lockTimeout, statementTimeout };
  } catch (error) {
    session.discard();
    throw mapError(error, 'BEGIN', false);
  }
}

const setting = (text: unknown): string => (typeof text === 'string' ? `'${text.replaceAll("'", "''")}'` : 'DEFAULT');

/** For the statements of others: what the connection had before, or `statementTimeoutMs`. */
export function restored({ lockTimeout, statementTimeout }: UsualLimits, statementTimeoutMs: number | undefined): string {
  const statement = statementTimeoutMs === undefined ? setting(statementTimeout) : String(statementTimeoutMs);
  return `SET LOCAL lock_timeout = ${setting(lockTimeout)}; SET LOCAL statement_timeout = ${statement}`;
}

/** These say nothing of what became of the COMMIT: connection, resources, shutdown, I/O, internal, "completion unknown". */
const IN_DOUBT = /^(?:08|53|57P|58|XX|40003)/;

async function commit(session: Session): Promise<void> {
  const { failure } = session;
  let command: string | undefined;
  try {
    ({ command } = await session.own('COMMIT'));
  } catch (error) {
    const state = codeOf(error);
    if (typeof state === 'string' && /^[0-9A-Z]{5}$/.test(state) && !IN_DOUBT.test(state)) throw error;
    session.discard();
    throw writeUnknown('PostgreSQL COMMIT', error);
  }
  // A transaction that had failed answers COMMIT with ROLLBACK, and no error.
  if (command !== 'COMMIT') throw rolledBack(failure);
}

export function rolledBack(failure: unknown): unknown {
  if (isSerializationFailure(failure)) return failure;
  return new RerunSafeError(
    'INVALID_OPTIONS',
    'A statement had failed, so PostgreSQL rolled the whole transaction back: nothing was written. Work that means to go on after a failed statement must set a savepoint before it, and roll back to that.',
    { cause: failure },
  );
}
