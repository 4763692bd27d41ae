/**
 * What a failure of SQLite means. Until COMMIT is said nothing has happened: whatever fails before is rolled back, by us or by the next process that
 * opens the file. Only a COMMIT that fails is in doubt: the end of a transaction may lie in the log although its fsync failed, and the recovery
 * after a crash would find it.
 *
 * @module
 */
import { isRerunSafeError, type RerunSafeError, storeMisconfigured, storeUnavailable } from '../../core/errors.ts';
import { invalidOptions } from '../../core/options.ts';

/** https://www.sqlite.org/rescode.html: the low byte is the primary code. */
const CODES = { ERROR: 1, BUSY: 5, LOCKED: 6, NOMEM: 7, INTERRUPT: 9, IOERR: 10, FULL: 13, PROTOCOL: 15, TOOBIG: 18, CONSTRAINT: 19 } as const;

/** Pass by themselves. Everything else wants a person: a file that is corrupt, read-only, no database, or another schema than ours. */
const PASSING: ReadonlySet<number | undefined> = new Set([
  CODES.BUSY,
  CODES.LOCKED,
  CODES.NOMEM,
  CODES.INTERRUPT,
  CODES.IOERR,
  CODES.FULL,
  CODES.PROTOCOL,
]);

interface Failure {
  readonly code?: unknown;
  readonly errcode?: unknown;
  readonly message?: unknown;
}

const failure = (error: unknown): Failure => (typeof error === 'object' && error !== null ? error : {});
const messageOf = (error: unknown): string => String(failure(error).message ?? error);

function primaryCode(error: unknown): number | undefined {
  const { code, errcode } = failure(error);
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : undefined;
}

/** Somebody has it locked; on a connection that others of this process use too, that may be a transaction they have not ended. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  if (isGoingOn(error)) return false;
  return code === CODES.BUSY || code === CODES.LOCKED || code === CODES.PROTOCOL || says(error, /within a transaction/);
}

/** The code of these is that of any mistake in a statement. */
const says = (error: unknown, what: RegExp): boolean => primaryCode(error) === CODES.ERROR && what.test(messageOf(error));

/** Of this very connection: a statement that writes and was not read to its end. It says BUSY, and no wait would help. */
export const isGoingOn = (error: unknown): boolean => primaryCode(error) === CODES.BUSY && /SQL statements in progress/.test(messageOf(error));

export const isTooLarge = (error: unknown): boolean => primaryCode(error) === CODES.TOOBIG;
export const isConstraint = (error: unknown): boolean => primaryCode(error) === CODES.CONSTRAINT;
/** What COMMIT says when the transaction was ended by somebody else. */
export const isNoTransaction = (error: unknown): boolean => says(error, /no transaction is active/);

export const isNoSavepoint = (error: unknown): boolean => says(error, /no such savepoint/);

const GOING_ON =
  'a statement that writes is still going on on this connection (an iterator of INSERT … RETURNING that was not read to its end?): nothing can be committed before it has ended. All of it is rolled back';

/** The store's error for what SQLite threw anywhere but at COMMIT. */
export function toStoreError(error: unknown, what: string): RerunSafeError {
  if (isRerunSafeError(error)) return error;
  if (isGoingOn(error)) return invalidOptions(`SQLite ${what}`, [GOING_ON]);
  const where = `SQLite ${what}`;
  if (PASSING.has(primaryCode(error))) return storeUnavailable(where, error);
  const hint = says(error, /no such (table|column)|no column named/) ? ' Make the table by calling setUp() once.' : '';
  return storeMisconfigured(`${where}: ${messageOf(error)}.${hint}`, error);
}
