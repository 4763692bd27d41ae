/**
 * What the kind of a trigger means for a duplicate.
 *
 * @module
 */
import type { InvocationContext } from '@azure/functions';
import { MAX_WAIT_MS } from '../../core/guard.ts';
import { invalidOptions } from '../../core/options.ts';

export const BOUNDED_WAIT_MS = 30_000;

/** A throw is redelivered at once: without a pause, a duplicate would use up all deliveries while the first still runs, and be dead-lettered. */
const REDELIVERED_AT_ONCE = new Set(['servicebustrigger', 'queuetrigger', 'blobtrigger', 'rabbitmqtrigger', 'sqltrigger', 'mysqltrigger']);
/** The stream moves on after a throw: what was not done then is lost. The first must end, or its lease run out, and this one takes over. */
const LOST_ON_THROW = new Set(['eventhubtrigger', 'cosmosdbtrigger', 'kafkatrigger']);
/** The host does nothing with a return value that no output binding asks for. */
const IGNORES_RETURN = new Set([...REDELIVERED_AT_ONCE, ...LOST_ON_THROW, 'eventgridtrigger', 'timertrigger', 'warmuptrigger']);
/** Replayed from their history by the Durable extension: a wrapper that reads a store in between breaks that. */
const DURABLE = new Set(['orchestrationtrigger', 'entitytrigger']);

const triggerType = (context: InvocationContext): string => context.options.trigger.type.toLowerCase();

/** How long a duplicate waits for the first, where the user did not choose. 0: it is refused. */
export function defaultWaitMs(context: InvocationContext, leaseMs: number): number {
  const type = triggerType(context);
  if (LOST_ON_THROW.has(type)) return MAX_WAIT_MS;
  return REDELIVERED_AT_ONCE.has(type) ? Math.min(leaseMs, BOUNDED_WAIT_MS) : 0;
}

/**
 * Whether a batch ends at its first failure, where the user did not choose. Messages of a session come back in order, all of them, so nothing is lost;
 * a stream moves on, and what was not tried would never be.
 */
export const stopsAtFailure = (context: InvocationContext): boolean =>
  triggerType(context) === 'servicebustrigger' && (context.options.trigger as { isSessionsEnabled?: unknown }).isSessionsEnabled === true;

/** The last try of a retry policy on a stream: after it the host moves on. */
export const isLastTry = (context: InvocationContext): boolean => {
  const { retryContext } = context;
  return (
    LOST_ON_THROW.has(triggerType(context)) &&
    retryContext !== undefined &&
    retryContext.maxRetryCount > 0 &&
    retryContext.retryCount >= retryContext.maxRetryCount
  );
};

export const returnIsIgnored = (context: InvocationContext): boolean =>
  context.options.return === undefined && IGNORES_RETURN.has(triggerType(context));

/** @throws RerunSafeError `INVALID_OPTIONS`; nothing was run. */
export function refuseWrongTrigger(what: string, context: InvocationContext): void {
  const type = triggerType(context);
  if (DURABLE.has(type)) {
    throw invalidOptions(what, [
      `the function ${context.functionName} has a ${context.options.trigger.type}: orchestrators and entities are replayed by Durable Functions and must not be wrapped. Wrap their activities`,
    ]);
  }
  if (type === 'httptrigger') throw invalidOptions(what, [`the function ${context.functionName} has an httpTrigger: use idempotentHttp`]);
}

/** Who runs it, for people only. */
export const holderOf = (context: InvocationContext): string => `${context.functionName} ${context.invocationId}`;
