/**
 * A part of a transaction that leaves nothing behind when it fails, so that whoever catches its error and commits the rest commits nothing of it.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';
import type { Queryable } from './query.ts';
import { codeOf } from './session.ts';

const NO_TRANSACTION = '25P01';

/**
 * Also finds out that there is no transaction: a pool gives each statement another connection, and what was checked or locked by one is free again
 * before the next.
 *
 * @throws what `body` throws, rolled back; `INVALID_OPTIONS` where `tx` has no transaction open.
 */
export async function inSavepoint<T>(what: string, tx: Queryable, body: () => Promise<T>): Promise<T> {
  try {
    await tx.query('SAVEPOINT rerunsafe');
  } catch (error) {
    if (codeOf(error) !== NO_TRANSACTION) throw error;
    throw invalidOptions(what, [
      'tx must be one connection on which BEGIN was sent, and not a pool (fencedTransaction and runInTransaction hand one out)',
    ]);
  }
  let value: T;
  try {
    value = await body();
  } catch (error) {
    // Where this fails, PostgreSQL lets nothing of the transaction be committed.
    await tx.query('ROLLBACK TO SAVEPOINT rerunsafe').catch(() => {});
    throw error;
  }
  await tx.query('RELEASE SAVEPOINT rerunsafe');
  return value;
}
