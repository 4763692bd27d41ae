/**
 * The completion of a run and items of the caller's in one transaction.
 *
 * @module
 */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { commitThrough } from '../../core/commit-through.ts';
import { storeUnavailable } from '../../core/errors.ts';
import { checkOptions, invalidOptions, isSignal } from '../../core/options.ts';
import type { Conflict, WriteResult } from '../../core/ports.ts';
import type { CommitRequest, Run } from '../../core/run.ts';
import { dynamodb, type Internals } from './internals.ts';
import type { Item } from './item.ts';
import { cancellationOf } from './map-error.ts';
import { type OutboxWrite, outboxWrite } from './outbox-items.ts';
import { checkItems, MOST_ITEMS, transact } from './transact.ts';

export interface CommitOptions {
  /** Ends the tries. Where none is in doubt, its reason is thrown, and nothing was written. */
  readonly signal?: AbortSignal;
}

/**
 * Completes a run over a `dynamodbStore` with `value`, and writes `items` (up to 99, in any tables of the account and region), in one transaction: both
 * stand, or neither. So do the messages of `run.outbox.add` (in the store's `outboxTable`). A later call replays `value`. What the work does or throws afterwards changes nothing.
 *
 * A value that is too large or cannot be stored is left out, and the rest is committed: later callers get `RESULT_NOT_STORED`.
 *
 * @throws RerunSafeError `LEASE_LOST`: somebody else has taken the run over; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS`: nothing was
 * written; `WRITE_UNKNOWN`: it may have taken effect, or still do, and the run ends so. Where a condition of yours failed, or the service does not take an
 * item, this is the SDK's own `TransactionCanceledException` or `ValidationException`, and nothing was written; `CancellationReasons` are in the order of
 * your items, with more behind them. The run then goes on: it may commit something else, return, or throw.
 *
 * @example
 * await runOnce({ store, operation: 'orders/take', key: order.id, input: order }, async (run) => {
 *   const receipt = { total: order.total };
 *   await commitWith(run, receipt, [{ Put: { TableName: 'orders', Item: { id: { S: order.id }, total: { N: String(order.total) } } } }]);
 *   return receipt;
 * });
 */
export async function commitWith<T>(run: Run<T>, value: T, items: readonly TransactWriteItem[], options: CommitOptions = {}): Promise<void> {
  checkItems('commitWith', items);
  checkOptions('commitWith', options, { signal: isSignal });
  const { signal } = options;
  // Taken once: what the work does to the array while the transaction is tried again changes nothing.
  const taken = [...items];
  await commitThrough({ run, value, kind: dynamodb, signal }, (internals, request) => send(internals, request, taken, signal));
}

/** Each time somebody else has committed a message of the same key in between. */
const OUTBOX_ROUNDS = 10;

async function send(
  { connection, tableName, outboxTable, guardedPut, keyOf, toStored }: Internals,
  { id, record, version, messages }: CommitRequest,
  items: readonly TransactWriteItem[],
  signal: AbortSignal | undefined,
): Promise<WriteResult> {
  const own = guardedPut(id, record, version);
  if (own === 'too-large') return { ok: false, reason: 'too-large' };
  const refused = (standing: Item | undefined): Conflict => ({ ok: false, reason: 'conflict', current: standing && toStored(standing) });
  const at = { TableName: tableName, Key: keyOf(id) };
  let outbox = outboxOf(messages, outboxTable, connection.clock.nowMs);
  if (items.length + outbox.items.length > MOST_ITEMS) {
    const most = `the items (${items.length}) and what the outbox adds to them (${outbox.items.length}: one for each message without a key, two for each key)`;
    throw invalidOptions('commitWith', [`${most} must be at most ${MOST_ITEMS}. Nothing was written`]);
  }
  for (let round = 1; ; round++) {
    try {
      const answer = await transact({ connection, items: [...items, ...outbox.items], own: { Put: own }, at, refused, signal });
      return 'ok' in answer ? answer : { ok: true, version: record.revision };
    } catch (error) {
      const again = outbox.again(cancellationOf(error)?.slice(items.length, -1) ?? []);
      if (again === undefined) throw error;
      if (round === OUTBOX_ROUNDS) throw storeUnavailable(`others wrote messages of the same key, ${round} times in a row`, error);
      outbox = again;
    }
  }
}

function outboxOf(messages: CommitRequest['messages'], tableName: string | undefined, nowMs: () => number): OutboxWrite {
  if (messages.length === 0) return { items: [], again: () => undefined };
  if (tableName !== undefined) return outboxWrite(messages, { tableName, nowMs });
  throw invalidOptions('commitWith', [
    `${messages.length} message(s) were added to the outbox, and the store has none: dynamodbStore({ outboxTable }). Nothing was written`,
  ]);
}
