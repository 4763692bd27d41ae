/**
 * Functions that get a batch: each item has a record of its own, so a batch that comes back costs only what was not done.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import type { GuardOptions } from '../../core/guard.ts';
import { invalidOptions, isInteger } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { runGuarded, unwrap } from '../../core/run-once.ts';
import { handOut } from '../../http/hand-out.ts';
import { named } from '../named.ts';
import { type BoundItem, bindItem, callFor, type ItemOptions, itemOf, type Kept, keep } from './item.ts';
import { refuseWrongTrigger } from './trigger.ts';

export interface IdempotentEachOptions<I> extends GuardOptions<unknown>, ItemOptions<I> {
  /** How many items are worked on at once. Default 1: in the order of the batch. */
  readonly concurrency?: number;
}

/**
 * Wraps the work on one item; register the result for a trigger with many (`cardinality: 'many'`, Cosmos DB). All items are tried, also after one
 * failed; then one `AggregateError` names the indexes that failed, since the host only knows success or failure of the whole batch. Where the host
 * brings the batch back (Service Bus; Event Hubs and Cosmos DB only under a retry policy), only those are run again.
 *
 * Output bindings are written once for a whole batch and cannot be kept per item: a function with `extraOutputs` is refused at its first call. Send
 * from the handler instead.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when it is built.
 * @example
 * app.eventHub('readings', {
 *   eventHubName: 'readings', connection: 'EventHub', cardinality: 'many',
 *   handler: idempotentEach({ store, operation: 'readings/keep', key: (r: Reading) => [r.deviceId, r.sequence] }, async (reading) => { … }),
 * });
 */
export function idempotentEach<I>(
  options: IdempotentEachOptions<I>,
  handler: (item: I, context: InvocationContext, run: Run, index: number) => unknown,
): (items: I[], context: InvocationContext) => Promise<void> {
  const bound = bindItem<I, unknown>('idempotentEach', options, { concurrency: isInteger(1, 1_000) });
  const { concurrency = 1, operation } = options;
  return named(handler, async (items: I[], context: InvocationContext) => {
    refuseWrongBatch(items, context);
    const failures: { index: number; error: unknown }[] = [];
    const rest = items.entries();
    const worker = async (): Promise<void> => {
      for (const [index, item] of rest) {
        try {
          await runItem(bound, handler, item, context, index);
        } catch (error) {
          failures.push({ index, error });
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
    if (failures.length > 0) throw failure(operation, items.length, failures);
  });
}

async function runItem<I>(
  bound: BoundItem<I, unknown>,
  handler: Parameters<typeof idempotentEach<I>>[1],
  item: I,
  context: InvocationContext,
  index: number,
): Promise<void> {
  const result = await runGuarded(bound.guard, await callFor(bound, item, context, index), async (run): Promise<Kept<unknown>> => {
    const handed = handOut<unknown, Kept<unknown>>(run, () => ({ item: true, value: undefined }));
    await bound.inside(handed, () => handler(item, context, handed, index));
    // Nobody gets to see the value of an item.
    return keep(undefined, context, undefined);
  });
  itemOf(bound.guard.operation, unwrap(bound.guard, result));
}

function failure(operation: string, count: number, failures: { index: number; error: unknown }[]): AggregateError {
  failures.sort((a, b) => a.index - b.index);
  const indexes = failures.map(({ index }) => index);
  return new AggregateError(
    failures.map(({ error }) => error),
    `${operation}: ${failures.length} of ${count} items failed (index ${indexes.join(', ')}), the first with: ${failures[0]?.error instanceof Error ? failures[0].error.message : 'no error object'}`,
  );
}

function refuseWrongBatch(items: unknown, context: InvocationContext): void {
  refuseWrongTrigger('idempotentEach', context);
  const { functionName, options } = context;
  if (!Array.isArray(items)) {
    throw invalidOptions('idempotentEach', [
      `the function ${functionName} gets one item, not an array: set cardinality to 'many', or use idempotent`,
    ]);
  }
  if ((options.extraOutputs ?? []).length > 0 || options.return !== undefined) {
    throw invalidOptions('idempotentEach', [
      `the function ${functionName} has output bindings, which are written once for the whole batch and cannot be kept for each item: send from the handler`,
    ]);
  }
}
