/**
 * One transaction on one connection of the pool.
 *
 * @module
 */
import { RerunSafeError, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { invalidOptions, isOneOf } from '../../core/options.ts';
import { unlessAborted } from '../../core/system.ts';
import { isSerializationFailure, isTimedOut, mapError, sqlStateOf } from './map-error.ts';
import { isEnded } from './mark.ts';
import type { PoolClientLike, PoolLike } from './query.ts';
import { type Answer, IN_FAILED_TRANSACTION, type Session, sessionOn, type Transaction } from './session.ts';

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
  /** The body's own statements come first, and it sets the mark after them. Default: it is set with BEGIN. */
  readonly marksItself?: boolean;
  /** What to throw where the work has ended the transaction behind our back. On the same connection, on which none is open now. */
  readonly onEnded?: (session: Session, thrown: unknown) => Promise<unknown>;
}

const DEFAULT_IDLE_TIMEOUT_MS = 60_000;
const ROLLBACK_LIMITS = { limitMs: 5_000 };

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
 * transaction (40001, 40P01), its error is thrown. `INVALID_OPTIONS`, too, where the work has ended the transaction itself, whatever it threw.
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
      await rollBack(session, options, error);
      throw error;
    }
    session.end();
    await commit(session, options);
    return value;
  } finally {
    session.release();
  }
}

/** A wait that is given up must not keep the connection that it gets later. */
async function connection(pool: Connects, signal: AbortSignal | undefined): Promise<PoolClientLike> {
  const connecting = pool.connect();
  let client: PoolClientLike;
  try {
    client = await (signal === undefined ? connecting : unlessAborted(connecting, signal));
  } catch (error) {
    connecting.then(
      (late) => late?.release?.(),
      () => {},
    );
    signal?.throwIfAborted();
    throw isOfClient(error) ? noPool() : mapError(error, 'connect', false);
  }
  // A client on its own has `connect` and `query` too, and is found out before anything is begun on it.
  if (typeof client?.release !== 'function') throw noPool();
  return client;
}

const isOfClient = (error: unknown): boolean => error instanceof Error && error.message.startsWith('Client has already been connected');
const noPool = (): RerunSafeError => invalidOptions('pool', ['must be a Pool: what connect() gives has no release(). A single Client is none']);

async function begin(session: Session, options: TransactionOptions): Promise<UsualLimits> {
  const { isolation, lockTimeoutMs, statementTimeoutMs, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS, marksItself = false } = options;
  const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
  const limits = { lock_timeout: lockTimeoutMs, statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: idleTimeoutMs };
  const set = Object.entries(limits).flatMap(([name, ms]) => (ms === undefined ? [] : [`SET LOCAL ${name} = ${Math.ceil(ms)}`]));
  try {
    const text = [`BEGIN${level}`, ...USUAL, ...set].join('; ');
    // Several statements in one round trip are answered by an array.
    const answers = marksItself ? ((await session.own(text)) as unknown as readonly Answer[]) : await session.mark.set(text);
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
const IN_DOUBT = /^(?:08|53|57P|58|XX|40003|25P04)/;

async function commit(session: Session, options: TransactionOptions): Promise<void> {
  const { failure } = session;
  let command: string | undefined;
  try {
    ({ command } = await session.mark.commit());
  } catch (error) {
    if (isEnded(error)) throw await ended(session, options, undefined);
    const state = sqlStateOf(error);
    if (state === IN_FAILED_TRANSACTION) {
      await session.own('ROLLBACK', undefined, ROLLBACK_LIMITS).catch(session.discard);
      throw rolledBack(failure);
    }
    if (state !== undefined && !IN_DOUBT.test(state) && !isTimedOut(error)) throw error;
    session.discard();
    // It was over before the COMMIT came.
    throw isTimedOut(error) ? storeUnavailable('PostgreSQL COMMIT: idleTimeoutMs had passed', error) : writeUnknown('PostgreSQL COMMIT', error);
  }
  // A transaction that had failed answers COMMIT with ROLLBACK, and no error.
  if (command !== 'COMMIT') throw rolledBack(failure);
}

async function rollBack(session: Session, options: TransactionOptions, thrown: unknown): Promise<void> {
  // Behind a statement that was given up it would wait for that; the end of the connection rolls back as well.
  if (session.discarded) return;
  try {
    await session.mark.rollBack(ROLLBACK_LIMITS);
  } catch (error) {
    if (isEnded(error)) throw await ended(session, options, thrown);
    session.discard();
  }
}

/** By the work, which may have begun another since. */
async function ended(session: Session, { onEnded = endedByWork }: TransactionOptions, thrown: unknown): Promise<unknown> {
  await session.own('ROLLBACK', undefined, ROLLBACK_LIMITS).catch(session.discard);
  return onEnded(session, thrown);
}

/** Not in doubt: to try that again would do again what was committed by itself. */
const endedByWork = async (_session: Session, thrown: unknown): Promise<RerunSafeError> =>
  new RerunSafeError(
    'INVALID_OPTIONS',
    'The work ended its transaction itself (COMMIT or ROLLBACK in a text of several statements): some of what it wrote may stand without the rest, and unchecked.',
    { cause: thrown },
  );

export function rolledBack(failure: unknown): unknown {
  if (isSerializationFailure(failure)) return failure;
  return new RerunSafeError(
    'INVALID_OPTIONS',
    'A statement had failed, so PostgreSQL rolled the whole transaction back: nothing was written. Work that means to go on after a failed statement must set a savepoint before it, and roll back to that.',
    { cause: failure },
  );
}
