/**
 * The caller's own part of a transaction: synchronous, its failures untouched, and the transaction still there when it is over.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { invalidOptions, isFunction, type Rule } from '../../core/options.ts';
import { isConstraint, isNoSavepoint, isOfSqlite } from './map-error.ts';

/** Thrown by the work, apart from SQLite's own failures around it. */
export class Thrown {
  readonly thrown: unknown;
  constructor(thrown: unknown) {
    this.thrown = thrown;
  }
}

/** The work ended the transaction itself (or SQLite did, under it): what it wrote after that stands. */
export class Ended {
  readonly cause: unknown;
  constructor(cause: unknown) {
    this.cause = cause;
  }
}

const SYNCHRONOUS = 'must be synchronous: what comes after an await would not be in the transaction';

/** An async function is known before it is called; what follows its first await would run all the same. */
export const isWork: Rule = (value) => isFunction(value) ?? (/^\[object Async/.test(Object.prototype.toString.call(value)) ? SYNCHRONOUS : undefined);

/** @throws {@link Thrown}, and `INVALID_OPTIONS` for a promise. */
export function doWork<T>(what: string, work: () => T): T {
  let value: T;
  try {
    value = work();
  } catch (error) {
    throw new Thrown(error);
  }
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== 'function') return value;
  // Nobody will hear of it.
  Promise.resolve(value).catch(() => {});
  throw invalidOptions(what, [`the work ${SYNCHRONOUS}`]);
}

/** What was thrown about the caller's work and rows, as it was thrown; undefined: it was about something else. */
export function ofTheCaller(error: unknown): Thrown | undefined {
  if (error instanceof Thrown) return error;
  const { cause } = (error ?? {}) as { cause?: unknown };
  if (cause instanceof Thrown) return cause;
  // Deferred to the commit, and about the caller's own rows.
  return isConstraint(error) ? new Thrown(error) : isConstraint(cause) ? new Thrown(cause) : undefined;
}

const SAVEPOINT = 'rerunsafe_work';

/**
 * The work alone, within a transaction of ours: where it fails, what it wrote is taken back and nothing else.
 *
 * @throws {@link Thrown}, {@link Ended}, and `INVALID_OPTIONS` for a promise.
 */
export function doWorkWithin<T>(database: DatabaseSync, what: string, work: () => T): T {
  database.exec(`SAVEPOINT ${SAVEPOINT}`);
  let value: T;
  try {
    value = doWork(what, work);
  } catch (error) {
    // After some failures of its own SQLite has rolled back already, and nothing stands.
    if (!(error instanceof Thrown && isOfSqlite(error.thrown))) end(database, `ROLLBACK TO ${SAVEPOINT}; RELEASE ${SAVEPOINT}`);
    throw error;
  }
  end(database, `RELEASE ${SAVEPOINT}`);
  return value;
}

/** Also tells whether the transaction is still the one that the work was begun in. */
function end(database: DatabaseSync, sql: string): void {
  try {
    database.exec(sql);
  } catch (error) {
    throw isNoSavepoint(error) ? new Ended(error) : error;
  }
}
