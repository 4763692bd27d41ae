/**
 * Writes to the caller's own entities that a stale holder cannot make. The strongest form that Table Storage has: one transaction with the row of the
 * lease or record, which fails when anybody has taken it.
 *
 * @module
 */
import type { TableClient, TableTransactionResponse, TransactionAction } from '@azure/data-tables';
import { checkFence } from '../../core/fence.ts';
import { checkOptions, has, invalidOptions, isInteger, isName, isSignal } from '../../core/options.ts';
import type { Fence } from '../../core/ports.ts';
import { checkActions } from './actions.ts';
import { rowOf } from './fence-rows.ts';
import type { FencedOptions } from './fenced.ts';
import { DEFAULT_PARTITIONS, isPartitionKey, isPartitions, type Place } from './place.ts';
import { requester } from './request.ts';
import { serviceClock } from './service-clock.ts';
import { inLine, submitFenced } from './submit-fenced.ts';

export interface FencedTransactionOptions extends FencedOptions {
  /** As `tableStore` has it. Default 256. */
  readonly partitions?: number;
  /** Instead of `partitions`: where the lease or record is pinned to, `store.inPartition(partitionKey)`. */
  readonly partitionKey?: string;
  /** As `tableStore` has it, ms. Default 1000. */
  readonly uncertaintyMs?: number;
}

/** The service takes 100 in one transaction, and two of them are ours. */
const MOST_ACTIONS = 98;

/**
 * The partition that entities must live in, in the table of the store, to be written by {@link fencedTransaction}: that of the lease of this name, or
 * of the record with this id. The service has no transactions over several partitions. Others' rows are there too: prefix your row keys.
 *
 * @param id the lease's name, or a record's id (`fence.id` is either)
 *
 * @example const partitionKey = fencePartition('nightly'); // also for readers, who hold no lease
 */
export function fencePartition(id: string, options: { readonly partitions?: number } = {}): string {
  checkOptions('fencePartition', { ...options, id }, { id: isName(4096), partitions: RULES.partitions }, ['id']);
  return rowOf(id, { partitions: options.partitions ?? DEFAULT_PARTITIONS }).partitionKey;
}

/**
 * Submits `actions` (up to 98, in the partition that {@link fencePartition} says) in one transaction, if the lease (of `storeLeases(tableStore(…))`) or
 * the record that the fence is of still has this owner and token. `client` is of the table that the store is in. A successor that takes the lease, and
 * only then reads, sees all that its predecessor committed and nothing that comes later: no claim is needed first, and a deletion leaves nothing behind.
 *
 * What counts is whether somebody else has taken it. A lease that has run out or was released, and that nobody has taken since, still is its last
 * holder's: what it writes comes before anything that a successor does. No transaction prolongs a lease or a minimum hold, beyond the second that the
 * service's clock is known to: consumers that go on writing do not keep the lease of a dead holder. A renewal costs two requests more after one,
 * and many consumers at once can keep it from getting through: those of a lease that is past its half keep still for up to 750 ms. Give leases that many
 * consumers share at least 10 s.
 *
 * Each call reads once and writes once; calls with one fence and client take their turns. Beside the lease's row lies one more, named like it and ending
 * in `.fenced`, by which a transaction whose answer was lost is recognised.
 *
 * Mind what the SDK does with actions: an `update` without `{ etag }` is unconditional, `delete` and `upsert` always are.
 *
 * @returns what the service answered, `subResponses` in the order of the actions; undefined where it has landed but the answer was lost.
 * @throws RerunSafeError `STALE_TOKEN` with `facts.token` and `facts.storedToken`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED` (also where this table has
 * nothing under the fence's name): nothing was written; `WRITE_UNKNOWN`: it may have taken effect, or still do; `INVALID_OPTIONS`. What the service says
 * about your actions (a condition that failed, an entity that it does not take) is the SDK's own `RestError`, and nothing was written.
 *
 * @example
 * const partitionKey = fencePartition('nightly');
 * await withLease(leases, 'nightly', {}, (lease) =>
 *   fencedTransaction(client, lease.fence, [['upsert', { partitionKey, rowKey: 'report-2026-03-01', total: 7 }, 'Replace']]),
 * );
 */
export async function fencedTransaction(
  client: TableClient,
  fence: Fence,
  actions: readonly TransactionAction[],
  options: FencedTransactionOptions = {},
): Promise<TableTransactionResponse | undefined> {
  const { uncertaintyMs = 1_000, requestTimeoutMs = 5_000, signal } = options;
  check(client, fence, options);
  const place = placeOf(options);
  const row = rowOf(fence.id, place);
  const { partitionKey } = row;
  checkActions(actions, {
    what: 'fencedTransaction',
    most: MOST_ACTIONS,
    partitionKey,
    place,
    hint: 'see fencePartition, and the option partitionKey',
  });
  const request = requester(() => Promise.resolve(client), requestTimeoutMs, serviceClock());
  const call = { request, fence, row, actions: [...actions], uncertaintyMs, ...(signal === undefined ? {} : { signal }) };
  return inLine(client, `${row.partitionKey}/${row.rowKey}`, () => submitFenced(call), signal);
}

const RULES = {
  partitions: isPartitions,
  partitionKey: isPartitionKey,
  uncertaintyMs: isInteger(1_000),
  requestTimeoutMs: isInteger(1),
  signal: isSignal,
};

function placeOf({ partitions, partitionKey }: FencedTransactionOptions): Place {
  if (partitionKey === undefined) return { partitions: partitions ?? DEFAULT_PARTITIONS };
  if (partitions === undefined) return { partitionKey };
  throw invalidOptions('fencedTransaction', ['either partitions or partitionKey can be given']);
}

function check(client: unknown, fence: unknown, options: unknown): void {
  checkOptions('fencedTransaction', { client }, { client: has('submitTransaction', 'listEntities') }, ['client']);
  checkFence(fence);
  checkOptions('fencedTransaction', options, RULES);
}
