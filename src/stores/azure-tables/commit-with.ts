/**
 * The completion of a run and entities of the caller's in one transaction.
 *
 * @module
 */
import type { TransactionAction } from '@azure/data-tables';
import { commitThrough, withoutMessages } from '../../core/commit-through.ts';
import { writeUnknown } from '../../core/errors.ts';
import { checkOptions, isSignal } from '../../core/options.ts';
import type { WriteResult } from '../../core/ports.ts';
import type { CommitRequest, Run } from '../../core/run.ts';
import { checkActions } from './actions.ts';
import { isTooLarge, toEntity } from './entity.ts';
import { azureTables, type Internals } from './internals.ts';
import type { Refusal } from './map-error.ts';
import { keysIn } from './place.ts';
import { conflict, MAX_RECORD_BYTES, readAfter, TOO_LARGE } from './records.ts';
import { OfTheActions, submit } from './submit.ts';

export interface CommitOptions {
  /** Ends the tries. Where none is in doubt, its reason is thrown, and nothing was written. */
  readonly signal?: AbortSignal;
}

/** The service takes 100 in one transaction, and one of them is ours. */
const MOST_ACTIONS = 99;

/**
 * Completes a run over a `tableStore` with `value`, and submits `actions` (up to 99), in one transaction: both stand, or neither. A later call replays
 * `value`. What the work does or throws afterwards changes nothing.
 *
 * The service has no transactions over several partitions: the run's record must lie in the partition of your entities. Choose it with
 * `store.inPartition(partitionKey)`; the entities are in the table of the store.
 *
 * A value that is too large or cannot be stored is left out, and the rest is committed: later callers get `RESULT_NOT_STORED`. Mind what the SDK does with
 * actions: an `update` without `{ etag }` is unconditional, `delete` and `upsert` always are.
 *
 * @throws RerunSafeError `LEASE_LOST`: somebody else has taken the run over; `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `INVALID_OPTIONS` (also for an
 * action in another partition): nothing was written; `WRITE_UNKNOWN`: it may have taken effect, or still do, and the run ends so. What the service says
 * about your actions (a condition that failed, an entity that it does not take) is the SDK's own `RestError`, and nothing was written. The run then goes
 * on: it may commit something else, return, or throw.
 *
 * @example
 * const partitionKey = `customer-${order.customer}`;
 * await runOnce({ store: store.inPartition(partitionKey), operation: 'orders/take', key: order.id, input: order }, async (run) => {
 *   const receipt = { total: order.total };
 *   await commitWith(run, receipt, [['create', { partitionKey, rowKey: `order-${order.id}`, total: order.total }]]);
 *   return receipt;
 * });
 */
export async function commitWith<T>(run: Run<T>, value: T, actions: readonly TransactionAction[], options: CommitOptions = {}): Promise<void> {
  checkOptions('commitWith', options, { signal: isSignal });
  const { signal } = options;
  // Taken once: what the work does to the array while the transaction is tried again changes nothing.
  const taken = Array.isArray(actions) ? [...actions] : actions;
  await commitThrough({ run, value, kind: azureTables, signal }, (internals, request) => send(internals, request, taken, signal));
}

async function send(
  { request, place, read }: Internals,
  commit: CommitRequest,
  actions: readonly TransactionAction[],
  signal: AbortSignal | undefined,
): Promise<WriteResult> {
  const { id, record, version } = commit;
  withoutMessages(commit, 'Table Storage');
  const keys = keysIn(place, id);
  const hint = 'the record of the run is there: see inPartition';
  checkActions(actions, { what: 'commitWith', most: MOST_ACTIONS, partitionKey: keys.partitionKey, place, hint });
  const entity = toEntity(keys, record);
  if (isTooLarge(entity, MAX_RECORD_BYTES)) return TOO_LARGE;
  const own: TransactionAction = version === undefined ? ['create', entity] : ['update', entity, 'Replace', { etag: version }];
  // Ours comes last: the service counts what failed from the caller's first.
  const submitted = await submit(request, 'commit', [...actions, own], signal).catch(asTheirs);
  // The answer's ETag is not needed: nothing follows a completion.
  if ('landed' in submitted) return { ok: true, version: submitted.landed.subResponses.at(-1)?.etag ?? '' };
  const { refusal, doubt } = submitted;
  if (refusal === undefined) throw doubt;
  const current = await readAfter(read, id, signal && { signal });
  // Not by the number in the service's message: the row itself says whether its condition held.
  if (current?.version !== version) return conflict(current);
  throw theirs(refusal);
}

/** In doubt it stays so: an earlier try may still land, when what is in its way has gone. */
const theirs = ({ doubt, cause }: Refusal): unknown => (doubt ? writeUnknown('commit', cause) : cause);

function asTheirs(error: unknown): never {
  throw error instanceof OfTheActions ? error.cause : error;
}
