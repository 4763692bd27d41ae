/**
 * Any single event: a direct invocation, SNS, S3, EventBridge, Step Functions.
 *
 * @module
 */
import type { Context } from 'aws-lambda';
import { invalidOptions } from '../../core/options.ts';
import type { Run } from '../../core/run.ts';
import { unwrap } from '../../core/run-once.ts';
import { named } from '../named.ts';
import { callFrom, type KeyedOptions, keyedFrom, runInTime } from './guard-lambda.ts';
import { DEADLINE_MARGIN_MS, inInvocation } from './invocation.ts';

export interface EventOptions<E, T> extends KeyedOptions<E, T> {}

/**
 * Guards a handler of single events: the same key gives the same result, and runs the handler once. Records are remembered for 24 h
 * (`retentionMs`), longer than Lambda and EventBridge retry.
 *
 * A duplicate that meets the first one at work throws `IN_FLIGHT`: an asynchronous invocation is then tried again by Lambda (twice, after 1 and
 * 2 minutes); `onInFlight: { waitMs }` waits for the outcome instead, at most until shortly before the time limit.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: for an event with several records (its key would be that of one of them), as
 * `runOnce`, and whatever the handler throws, untouched.
 * @example
 * export const handler = idempotent(
 *   { store, operation: 'orders/ship', key: (event: EventBridgeEvent<'OrderPaid', Order>) => event.detail.orderId },
 *   async (event, context, run) => ship(event.detail, run.keyFor('ship')),
 * );
 */
export function idempotent<E, T>(
  options: EventOptions<E, NoInfer<T>>,
  // Not Run<T>: a parameter that depends on T would fix it before what the handler returns has been looked at.
  handler: (event: E, context: Context, run: Run) => T | Promise<T>,
): (event: E, context: Context) => Promise<T> {
  const keyed = keyedFrom<E, T>('idempotent', options);
  return named(handler, (event: E, context: Context) =>
    inInvocation(event, context, options.deadlineMarginMs ?? DEADLINE_MARGIN_MS, async (invocation) => {
      refuseBatch(event);
      const call = await callFrom(keyed, event, context, invocation);
      return unwrap(keyed.guard, await runInTime(keyed.guard, call, invocation, (run) => handler(event, context, run)));
    }),
  );
}

/** The key of one record would stand for all: those that came with it would be taken for done. */
function refuseBatch(event: unknown): void {
  const { Records: records } = (event ?? {}) as { readonly Records?: unknown };
  if (Array.isArray(records) && records.length > 1) {
    throw invalidOptions('idempotent', [`the event has ${records.length} records, and they need a key each: use idempotentEach. Nothing was run`]);
  }
}
