/**
 * A part of a transaction that leaves nothing behind when it fails, so that whoever catches its error and commits the rest commits nothing of it.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';
import { realSystem } from '../../core/system.ts';
import { sqlStateOf } from './map-error.ts';
import type { Queryable } from './query.ts';

const NO_TRANSACTION = '25P01';

let ofThisProcess: string | undefined;
/** No name that the caller's own statements use. The same all along: statistics of statements keep each text they have not seen. */
export function savepointName(what: string): string {
  ofThisProcess ??= realSystem.nonce().replaceAll('-', '').slice(0, 12);
  return `rerunsafe_${what}_${ofThisProcess}`;
}

/** The end of the last one on each connection. Savepoints lie in each other: of two at once the first to end would take the other with it. */
const tails = new WeakMap<object, Promise<unknown>>();

/**
 * Also finds out that there is no transaction: a pool gives each statement another connection, and what was checked or locked by one is free again
 * before the next. Several at once on one `tx` follow each other.
 *
 * @throws what `body` throws, rolled back; `INVALID_OPTIONS` where `tx` has no transaction open.
 */
export function inSavepoint<T>(what: string, tx: Queryable, body: () => Promise<T>): Promise<T> {
  const before = tails.get(tx);
  const mine = before === undefined ? alone(what, tx, body) : before.then(() => alone(what, tx, body));
  tails.set(
    tx,
    mine.then(
      () => {},
      () => {},
    ),
  );
  return mine;
}

async function alone<T>(what: string, tx: Queryable, body: () => Promise<T>): Promise<T> {
  const name = savepointName('part');
  try {
    await tx.query(`SAVEPOINT ${name}`);
  } catch (error) {
    if (sqlStateOf(error) !== NO_TRANSACTION) throw error;
    throw invalidOptions(what, [
      'tx must be one connection on which BEGIN was sent, and not a pool (fencedTransaction and runInTransaction hand one out)',
    ]);
  }
  let value: T;
  try {
    value = await body();
  } catch (error) {
    // Where this fails, PostgreSQL lets nothing of the transaction be committed.
    await tx.query(`ROLLBACK TO SAVEPOINT ${name}`).catch(() => {});
    throw error;
  }
  await tx.query(`RELEASE SAVEPOINT ${name}`);
  return value;
}
