/**
 * One transaction on one connection. `node:sqlite` is synchronous, so nothing else of this process comes between its statements.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { writeUnknown } from '../../core/errors.ts';
import { isBusy, isConstraint, isGoingOn, isNoTransaction } from './map-error.ts';

/**
 * Holds the file's write lock from its first statement on, so that what `body` reads is what it writes over.
 *
 * @throws what `body` or SQLite throws, after rolling back; `WRITE_UNKNOWN` when COMMIT fails in a way that may have committed, or when `body` ended the
 * transaction.
 */
export function writing<T>(database: DatabaseSync, body: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  let value: T;
  try {
    value = body();
  } catch (error) {
    rollBack(database);
    throw error;
  }
  try {
    database.exec('COMMIT');
  } catch (error) {
    // Ended by the work, or by SQLite under it (a trigger's ROLLBACK): what was written after that stands, with no fence.
    if (isNoTransaction(error)) throw writeUnknown('the transaction was over before its work was: what the work wrote after that stands', error);
    rollBack(database);
    // Readers in the way (without a write-ahead log) and deferred constraints: the transaction was still open, and is not any more.
    if (isBusy(error) || isGoingOn(error) || isConstraint(error)) throw error;
    throw writeUnknown('SQLite COMMIT', error);
  }
  return value;
}

/** Also fails where the connection has a transaction open: it would show what is not committed, or what has been overwritten since. */
export function reading<T>(database: DatabaseSync, body: () => T): T {
  database.exec('BEGIN DEFERRED');
  try {
    return body();
  } finally {
    rollBack(database);
  }
}

/** One that writes. SQLite opens no savepoint beside it. */
export function hasStatementGoingOn(database: DatabaseSync): boolean {
  try {
    database.exec('SAVEPOINT "rerunsafe probe"; RELEASE "rerunsafe probe"');
    return false;
  } catch (error) {
    return isGoingOn(error);
  }
}

/** After an I/O error or a full disk SQLite may have rolled back by itself. */
function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {}
}
