/**
 * Functions with one item per invocation: queue and topic messages, blobs, events, activities.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import type { GuardOptions } from '../../core/guard.ts';
import type { Run } from '../../core/run.ts';
import { runGuarded } from '../../core/run-once.ts';
import { handOut } from '../../http/hand-out.ts';
import { named } from '../named.ts';
import { bindItem, callFor, type ItemOptions, itemOf, type Kept, keep } from './item.ts';
import { outputsOf, setOutputs } from './outputs.ts';
import { refuseWrongTrigger } from './trigger.ts';

export interface IdempotentOptions<I, O = unknown> extends GuardOptions<O>, ItemOptions<I> {}

/**
 * Wraps the handler of any trigger but HTTP, timers for which {@link singleton} is meant, and Durable orchestrators and entities (refused at the
 * first call). A finished duplicate returns what the first returned, and sets the same `context.extraOutputs`: the host writes both after the
 * handler, so they are part of the outcome. While the first still runs, a duplicate of a queue or Service Bus message waits (up to the lease, at
 * most 30 s) and then throws `IN_FLIGHT`; one of a stream (Event Hubs, Cosmos DB, Kafka) waits until it can take over. `onInFlight` overrules.
 *
 * A record is remembered for 7 days by default. Messages are not compared by default: give `input` to refuse a key that comes with another input.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when it is built.
 * @example
 * app.serviceBusQueue('orders', {
 *   queueName: 'orders', connection: 'ServiceBus',
 *   handler: idempotent({ store, operation: 'orders/take', key: (order: Order) => order.orderId }, async (order, context, run) => { … }),
 * });
 */
export function idempotent<I, O>(
  options: IdempotentOptions<I, O>,
  handler: (input: I, context: InvocationContext, run: Run) => O | Promise<O>,
): (input: I, context: InvocationContext) => Promise<O> {
  const bound = bindItem<I, O>('idempotent', options);
  return named(handler, async (input: I, context: InvocationContext) => {
    refuseWrongTrigger('idempotent', context);
    const result = await runGuarded(bound.guard, await callFor(bound, input, context), async (run): Promise<Kept<O>> => {
      const handed = handOut<unknown, Kept<O>>(run, (value) => keep(value as O, context, outputsOf(context)));
      return keep(await bound.inside(handed, () => handler(input, context, handed)), context, outputsOf(context));
    });
    const kept = itemOf(bound.guard, result);
    setOutputs(context, kept.outputs);
    return kept.value as O;
  });
}
