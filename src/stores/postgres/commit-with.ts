/**
 * The completion of a run and rows of the caller's in one transaction.
 *
 * @module
 */
import { commitThrough } from '../../core/commit-through.ts';
import { storeUnavailable } from '../../core/errors.ts';
import { checkOptions, isFunction, isInteger, isSignal, type Rules } from '../../core/options.ts';
import type { WriteResult } from '../../core/ports.ts';
import type { CommitRequest, Run } from '../../core/run.ts';
import { pause, realSystem } from '../../core/system.ts';
import { pauseBeforeMs } from '../../core/waits.ts';
import { foundSchema, schemasSql } from './found-schemas.ts';
import { type Internals, postgres } from './internals.ts';
import { isSerializationFailure, mapError, sqlStateOf } from './map-error.ts';
import { qualified } from './names.ts';
import { insertMessages } from './outbox-insert.ts';
import { DEFAULT_OUTBOX_TABLE, OUTBOX_RULES } from './outbox-table.ts';
import { IN_FAILED_TRANSACTION } from './session.ts';
import { type Isolation, inTransaction, isIsolation, MOST_MS, restored, rolledBack, type Transaction } from './transaction.ts';
import { transactionRows } from './transaction-rows.ts';

export interface CommitOptions {
  /** Default: what the database has; READ COMMITTED, unless somebody changed that. */
  readonly isolation?: Isolation;
  /** The longest time for each statement of yours, ms. Default: what the connection has. */
  readonly statementTimeoutMs?: number;
  /** The server ends a transaction that says nothing for so long, ms. Default 60,000. */
  readonly idleTimeoutMs?: number;
  /** Where messages of `run.outbox` wait for the relay, in the schema of the store. Default `rerunsafe_outbox`. */
  readonly outboxTable?: string;
  /** Ends the tries. Where none is in doubt, its reason is thrown, and nothing was written. */
  readonly signal?: AbortSignal;
}

const RULES: Rules = {
  isolation: isIsolation,
  statementTimeoutMs: isInteger(1, MOST_MS),
  idleTimeoutMs: isInteger(1, MOST_MS),
  ...OUTBOX_RULES,
  signal: isSignal,
};

const MOST_TRIES = 10;
/** For the record's row, which others hold for a moment only; then the run asks again while its lease lasts. */
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Completes a run over a `postgresStore` with `value`, and commits what `write` writes through `tx`, in one transaction: both stand, or neither. A later
 * call replays `value`. What the work does or throws afterwards changes nothing.
 *
 * `write` is called again, from its beginning, where PostgreSQL rolled it back for the sake of another transaction, or the connection was lost (in a statement of
 * its own, if it lets that very error through): keep
 * what is slow, or is done elsewhere, outside of it. A value that is too large or cannot be stored is left out, and the rest is committed: later callers get
 * `RESULT_NOT_STORED`.
 *
 * @throws RerunSafeError `LEASE_LOST`: somebody else has taken the run over; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS`: nothing was
 * written, unless `write` ended the transaction itself (the message says so); `WRITE_UNKNOWN`: it may have taken effect, and the run ends so. What `write` throws, or PostgreSQL says of its statements or of a deferred constraint, comes through
 * untouched, rolled back; the run then goes on: it may commit something else, return, or throw.
 *
 * @example
 * await runOnce({ store, operation: 'orders/take', key: order.id, input: order }, async (run) => {
 *   const receipt = await charge(order, run.keyFor('charge'));
 *   await commitWith(run, receipt, (tx) => tx.query('INSERT INTO orders (id, receipt) VALUES ($1, $2)', [order.id, receipt.id]));
 *   return receipt;
 * });
 */
export async function commitWith<T>(run: Run<T>, value: T, write: (tx: Transaction) => unknown, options: CommitOptions = {}): Promise<void> {
  checkOptions('commitWith', { write }, { write: isFunction }, ['write']);
  checkOptions('commitWith', options, RULES);
  await commitThrough({ run, value, kind: postgres, signal: options.signal }, (internals, request) => send(internals, request, write, options));
}

/** Thrown through the transaction, so that it is rolled back. */
class Refused {
  readonly result: WriteResult;
  constructor(result: WriteResult) {
    this.result = result;
  }
}

async function send(internals: Internals, request: CommitRequest, write: (tx: Transaction) => unknown, options: CommitOptions): Promise<WriteResult> {
  const { signal } = options;
  for (let tries = 1; ; tries++) {
    try {
      return await sendOnce(internals, request, write, options);
    } catch (error) {
      if (error instanceof Refused) return error.result;
      if (!isSerializationFailure(error)) throw error;
      if (tries === MOST_TRIES) throw storeUnavailable(`rolled back ${MOST_TRIES} times, for other transactions`, error);
    }
    await pause(realSystem, pauseBeforeMs(tries - 1, realSystem), signal);
  }
}

async function sendOnce(
  { connect, schema, tableName, maxRecordBytes }: Internals,
  { id, record, version, messages }: CommitRequest,
  write: (tx: Transaction) => unknown,
  { isolation, statementTimeoutMs, idleTimeoutMs, outboxTable = DEFAULT_OUTBOX_TABLE, signal }: CommitOptions,
): Promise<WriteResult> {
  const rows = transactionRows(qualified(tableName, schema), maxRecordBytes);
  const limits = { isolation, idleTimeoutMs, lockTimeoutMs: LOCK_TIMEOUT_MS, statementTimeoutMs: 2 * LOCK_TIMEOUT_MS, signal, marksItself: true };
  return inTransaction({ connect }, limits, async (tx, session, usual) => {
    const ours = async <R>(asked: Promise<R>): Promise<R> =>
      asked.catch((error: unknown) => {
        if (isSerializationFailure(error)) throw error;
        // The failure of an earlier statement that nobody has told us of.
        throw sqlStateOf(error) === IN_FAILED_TRANSACTION ? rolledBack(session.failure) : mapError(error, 'commit', false);
      });
    const written = await ours(rows.put(session.own, id, record, version));
    if (!written.ok) throw new Refused(written);
    const found = await ours(session.mark.set(`${restored(usual, statementTimeoutMs)}; ${schemasSql([outboxTable])}`));
    try {
      await write(tx);
    } catch (error) {
      throw session.conflictIn(error) ?? (session.isLoss(error) ? mapError(error, 'commit', false) : error);
    }
    session.end();
    if (messages.length > 0) {
      // First: where the work has ended the transaction, they would leave without it.
      await ours(session.mark.check());
      await ours(insertMessages({ query: session.own }, messages, { schema: schema ?? foundSchema(found, 0), outboxTable }));
    }
    return written;
  });
}
