/**
 * Functions that get a batch: each item has a record of its own, so a batch that comes back costs only what was not done.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import { type GuardOptions, MAX_WAIT_MS } from '../../core/guard.ts';
import { invalidOptions, isInteger, isOneOf } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { runGuarded } from '../../core/run-once.ts';
import { handOut } from '../../http/hand-out.ts';
import { type ItemFailure, ItemsFailedError } from '../items-failed.ts';
import { named } from '../named.ts';
import { type BoundItem, bindItem, callFor, type ItemOptions, itemOf, type Kept, keep } from './item.ts';
import { defaultWaitMs, isLastTry, refuseWrongTrigger, stopsAtFailure } from './trigger.ts';
import { noteBatch } from './trigger-metadata.ts';

export interface IdempotentEachOptions<I> extends GuardOptions<unknown>, ItemOptions<I> {
  /** How many items are worked on at once. Default 1: in the order of the batch. More gives up that order. */
  readonly concurrency?: number;
  /**
   * After an item has failed: try the rest, or begin no other. Default: `stop` for Service Bus sessions, whose messages come back in order; else
   * `continue`. Take `stop` for Event Hubs, Kafka and Cosmos DB only with a retry policy: without one the host moves on, and what was not tried is
   * lost. In the policy's last try all items are tried.
   */
  readonly onFailure?: 'continue' | 'stop';
}

/** With less time than this left (`remainingMs`) no item is begun. */
const LAST_START_MS = 1_000;

/**
 * Wraps the work on one item; register the result for a trigger with many (`cardinality: 'many'`, Cosmos DB). Where any item was not done, one
 * {@link ItemsFailedError} at the end names them by index, since the host only knows success or failure of the whole batch. Where the host brings the
 * batch back (Service Bus; Event Hubs, Kafka and Cosmos DB only under a retry policy), only those are run again.
 *
 * Items whose first is still running elsewhere are waited for: in a stream until they can be taken over, else up to the lease and at most 30 s for the
 * whole batch, whose messages are locked that long. `onInFlight` overrules, for each item.
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
  const bound = bindItem<I, unknown>('idempotentEach', options, { concurrency: isInteger(1, 1_000), onFailure: isOneOf('continue', 'stop') });
  const { concurrency = 1, operation, onFailure, remainingMs } = options;
  return named(handler, async (items: I[], context: InvocationContext) => {
    refuseWrongBatch(items, context);
    noteBatch(context, items.length);
    const stops = (onFailure ?? (stopsAtFailure(context) ? 'stop' : 'continue')) === 'stop' && !isLastTry(context);
    const failures: ItemFailure[] = [];
    const untried: number[] = [];
    const patience = { leftMs: defaultWaitMs(context, bound.guard.leaseMs) };
    const mayBegin = (): boolean => !(stops && failures.length > 0) && (remainingMs === undefined || remainingMs() > LAST_START_MS);
    const rest = items.entries();
    const worker = async (): Promise<void> => {
      for (const [index, item] of rest) {
        if (!mayBegin()) {
          untried.push(index);
          continue;
        }
        try {
          await runItem(bound, handler, item, context, index, patience);
        } catch (error) {
          failures.push({ index, error });
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
    if (failures.length + untried.length > 0) throw new ItemsFailedError(operation, items.length, failures, untried);
  });
}

/** `patience`: how long the batch may still wait for others; what this item waits is taken off. */
async function runItem<I>(
  bound: BoundItem<I, unknown>,
  handler: Parameters<typeof idempotentEach<I>>[1],
  item: I,
  context: InvocationContext,
  index: number,
  patience: { leftMs: number },
): Promise<void> {
  const call = await callFor(bound, item, context, index);
  const waitMs = call.waitMs === undefined ? undefined : Math.floor(patience.leftMs);
  const calledAt = performance.now();
  let began: number | undefined;
  try {
    const result = await runGuarded(bound.guard, { ...call, waitMs }, async (run): Promise<Kept<unknown>> => {
      began = performance.now();
      const handed = handOut<unknown, Kept<unknown>>(run, () => ({ item: true, value: undefined }));
      await bound.inside(handed, () => handler(item, context, handed, index));
      // Nobody gets to see the value of an item.
      return keep(undefined, context, undefined);
    });
    itemOf(bound.guard, result);
  } finally {
    const waited = (began ?? performance.now()) - calledAt;
    if (patience.leftMs < MAX_WAIT_MS) patience.leftMs = Math.max(0, patience.leftMs - waited);
  }
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
