/**
 * What a failure of PostgreSQL, of a pooler before it, or of the way there means. A server that answers a statement with an error has rolled it back:
 * nothing was written. No answer, or the end of the connection instead of one, leaves a write in doubt.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable, writeUnknown } from '../../core/errors.ts';

const propertyOf = (error: unknown, name: 'code' | 'message'): string => {
  const value = typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
};

/** The five characters of https://www.postgresql.org/docs/current/errcodes-appendix.html; undefined where no server has spoken. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = propertyOf(error, 'code');
  return /^[0-9A-Z]{5}$/.test(code) && !isOfSystem(error, code) ? code : undefined;
}

/** EPIPE, EPERM and others have five letters too. */
const isOfSystem = (error: unknown, code: string): boolean =>
  code === 'EPIPE' || (/^E[A-Z]{4}$/.test(code) && typeof error === 'object' && error !== null && ('errno' in error || 'syscall' in error));

const hasState = (error: unknown, ...states: readonly string[]): boolean => states.includes(sqlStateOf(error) ?? '');

/** Of two transactions in each other's way this one was rolled back: nothing happened, and the same again may succeed. */
export const isSerializationFailure = (error: unknown): boolean => hasState(error, '40001', '40P01');

/** Somebody holds a row for longer than `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => hasState(error, '55P03');

/** A prepared statement that is not there, is there already, or whose table has changed since: nothing was run. */
export const isNameRefused = (error: unknown): boolean => hasState(error, '26000', '42P05', '0A000');

/** The server has ended a transaction that said nothing for too long, and with it the connection. */
export const isTimedOut = (error: unknown): boolean => hasState(error, '25P03');

/** The server, a pooler (pgbouncer, Supavisor, RDS Proxy) or the caller's pool has no connection to give. Nothing was sent. */
export const isServerFull = (error: unknown): boolean => hasState(error, '53300') || FULL.test(propertyOf(error, 'message'));
const FULL =
  /no more connections allowed|too many (?:clients|connections)|max(?:imum)? client connections reached|MaxClientsInSessionMode|query_wait_timeout|waiting to acquire (?:a )?database connection|timeout exceeded when trying to connect/i;

/** The driver has noticed before it sent anything. */
const isNotSent = (error: unknown): boolean => NOT_SENT.test(propertyOf(error, 'message'));
const NOT_SENT = /is not queryable|Cannot use a pool after calling end|due to connection timeout/;

const NETWORK: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'ENOENT', 'EADDRNOTAVAIL', 'EMFILE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'],
]);
const LOST =
  /^Connection terminated|server closed the connection|server conn crashed|server_login_retry|Connection ended unexpectedly|socket hang up/i;

/** Shutting down, starting up, crashed, out of time (idle, or a transaction too long), or the connection is gone: it passes, and the connection is of no more use. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(?:08|57P0[1-5]|25P0[34])/.test(state) || LOST.test(propertyOf(error, 'message'));
  return NETWORK.has(propertyOf(error, 'code')) || LOST.test(propertyOf(error, 'message')) || isNotSent(error);
}

/** Answers that come with the end of the connection, or tell of the system and not of the statement: no word on whether it was committed. */
const IN_DOUBT = /^(?:08|57P|58|XX|40003|25P04)/;
/** Pass by themselves: resources, interventions, locks, conflicts, the system. */
const PASSING = /^(?:08|53|55P03|57|58|40|XX|25P0[34])/;

const FULL_HINT =
  'no connection to be had, the server or the pool is full: smaller pools, a transaction pooler before the server, or a higher max_connections';

const HINTS: Readonly<Record<string, string>> = {
  '55P03': 'another transaction holds the row of this record for longer than lockTimeoutMs',
  '57014': 'the statement was cancelled, by statement_timeout or by a person',
  '42P01': 'Make the table by calling setUp() once, or look at schema, tableName and search_path.',
  '42703': 'The table lacks a column. Bring it up to date by calling setUp() once.',
  '42P10': 'The table lacks its primary key. Was it made by setUp()?',
  '42501': 'The role needs USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on the table; for setUp() CREATE too.',
  '28P01': 'Look at user and password.',
  '28000': 'Look at user, password and pg_hba.conf.',
  '3D000': 'Look at the name of the database.',
  '25006': 'No writes are taken: a standby (connect to the primary), or a transaction that was set READ ONLY.',
  '25P02': 'The connection is in a transaction that failed.',
};

/**
 * The store's error for what the driver threw.
 *
 * @param wrote a statement that writes had been sent, or may have been
 * @returns `STORE_UNAVAILABLE` (nothing happened; passes), `STORE_MISCONFIGURED` (nothing happened; a person has to act), `WRITE_UNKNOWN`
 */
export function mapError(error: unknown, what: string, wrote: boolean): RerunSafeError {
  if (isRerunSafeError(error)) return error;
  const where = `PostgreSQL ${what}`;
  const state = sqlStateOf(error);
  if (isServerFull(error)) return storeUnavailable(`${where}: ${FULL_HINT}`, error);
  if (isNotSent(error)) return storeUnavailable(where, error);
  if (state === undefined) {
    if (wrote) return writeUnknown(where, error);
    return isConnectionLost(error) ? storeUnavailable(where, error) : storeMisconfigured(`${where}: ${sentence(error)}`, error);
  }
  const hint = HINTS[state];
  if (wrote && IN_DOUBT.test(state) && state !== '57P03') return writeUnknown(where, error);
  if (PASSING.test(state)) return storeUnavailable(hint === undefined ? where : `${where}: ${hint}`, error);
  return storeMisconfigured(`${where}: ${sentence(error)} (${state}).${hint === undefined ? '' : ` ${hint}`}`, error);
}

const sentence = (error: unknown): string => propertyOf(error, 'message') || String(error);
