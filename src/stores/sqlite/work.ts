/**
 * The caller's own part of a transaction: synchronous, its failures untouched, and the transaction still there when it is over.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { invalidOptions, isFunction, type Rule } from '../../core/options.ts';
import { realSystem } from '../../core/system.ts';
import { isConstraint, isGoingOn, isNoSavepoint } from './map-error.ts';
import { type Watch, watch } from './watch.ts';

/** Thrown by the work, apart from SQLite's own failures around it. */
export class Thrown {
  readonly thrown: unknown;
  /** The transaction is gone, or good for nothing more, and nothing of it stands: it cannot keep what was thrown. */
  readonly isUndone: boolean;
  constructor(thrown: unknown, isUndone = false) {
    this.thrown = thrown;
    this.isUndone = isUndone;
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

/**
 * The work alone, within a transaction of ours: where it fails, what it wrote is taken back and nothing else.
 *
 * @throws {@link Thrown}, {@link Ended}, and `INVALID_OPTIONS` for a promise, or for a statement that is still going on.
 */
export function doWorkWithin<T>(database: DatabaseSync, what: string, work: () => T): T {
  const watching = watch(database);
  try {
    return within(database, watching, () => doWork(what, work));
  } finally {
    watching.end();
  }
}

function within<T>(database: DatabaseSync, watching: Watch, work: () => T): T {
  // The work may set savepoints of its own, under any name: the innermost of a name is the one that is rolled back to.
  const savepoint = `"rerunsafe ${realSystem.nonce()}"`;
  database.exec(`SAVEPOINT ${savepoint}`);
  let value: T;
  try {
    value = work();
  } catch (error) {
    const undone = takenBack(database, savepoint, watching);
    throw undone && error instanceof Thrown ? new Thrown(error.thrown, true) : error;
  }
  try {
    database.exec(`RELEASE ${savepoint}`);
  } catch (error) {
    throw isNoSavepoint(error) ? new Ended(error) : error;
  }
  return value;
}

/**
 * @returns whether all of the transaction is undone, and not the work alone
 * @throws {@link Ended}
 */
function takenBack(database: DatabaseSync, savepoint: string, watching: Watch): boolean {
  try {
    database.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`);
    return false;
  } catch (error) {
    // Nothing can be committed before that statement has ended.
    if (isGoingOn(error)) return true;
    if (!isNoSavepoint(error)) throw error;
    if (watching.isUntouched()) return true;
    throw new Ended(error);
  }
}
