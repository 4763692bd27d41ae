/**
 * Scheduled functions: one at a time, and once per scheduled moment.
 *
 * @module
 */
import type { Context } from 'aws-lambda';
import type { Lease } from '../../core/lease.ts';
import { named } from '../named.ts';
import { checkSingleton, leaseHeld, runSingleton, type SingletonOptions, slotFrom, whySkipped } from '../singleton.ts';
import { DEADLINE_MARGIN_MS, DEADLINE_RULES, type DeadlineOptions, inInvocation } from './invocation.ts';

export interface ScheduledOptions<E> extends SingletonOptions<E, Context>, DeadlineOptions {}

/**
 * Lets one run of a job go on at a time, and runs it once per slot: EventBridge delivers at least once, and two schedules or regions may name the
 * same job. A run that is skipped returns undefined, and says so in a line of the log (or to `onSkipped`). The retry of a run that was killed finds its
 * own lease, and throws `LEASE_HELD` whatever `onHeld` says, so that Lambda tries once more.
 *
 * The slot is the `time` of a scheduled event of EventBridge (rule or Scheduler). For any other event there is none, a warning says so, and only
 * overlap is prevented: an ordinary event's time is no schedule, and two events of one second are not the same run. Give `slot` for a payload
 * of your own, for example one that carries `<aws.scheduler.scheduled-time>`.
 *
 * @throws RerunSafeError when built: `INVALID_OPTIONS`; when called: `LEASE_HELD` (only with `onHeld: 'throw'`), the provider's failures, and
 * whatever the handler throws, untouched.
 * @example
 * export const handler = singleton({ leases: storeLeases(store), name: 'reports/nightly' }, async (event, context, lease) => {
 *   await report(lease.fence);
 * });
 */
export function singleton<E = unknown, T = unknown>(
  options: ScheduledOptions<E>,
  handler: (event: E, context: Context, lease: Lease) => T | Promise<T>,
): (event: E, context: Context) => Promise<T | undefined> {
  checkSingleton(options, DEADLINE_RULES);
  const { name, slot, onSkipped = (skipped) => console.info(whySkipped(name, skipped)) } = options;
  return named(handler, (event: E, context: Context) =>
    inInvocation(event, context, options.deadlineMarginMs ?? DEADLINE_MARGIN_MS, async (invocation) => {
      const moment = slot === false ? undefined : slotFrom(slot === undefined ? scheduledTime(event) : slot(event, context));
      if (moment === undefined && slot !== false) {
        const why = slot === undefined ? 'not an event of a schedule' : 'slot found no moment';
        console.warn(`${name}: ${why}, so only overlap is prevented. Give slot, or slot: false to say that this is meant.`);
      }
      const { holder, signal } = invocation;
      const call = { slot: moment, label: holder, signal, remainingMs: () => invocation.remainingMs() };
      const result = await runSingleton(options, call, (lease) => handler(event, context, lease));
      if (result.kind === 'done') return result.value;
      // Lambda tries an asynchronous event again, under the same request id, when its last try has ended: that one holds the lease, and is dead. To skip
      // would count for success, and nobody would come again.
      if (result.kind === 'held' && holder !== undefined && result.label === holder) throw leaseHeld(name, result.retryAfterMs);
      await onSkipped(result, event, context);
      return undefined;
    }),
  );
}

const EARLY_MS = 2_000;

function scheduledTime(event: unknown): string | undefined {
  const given = event as { readonly 'detail-type'?: unknown; readonly time?: unknown } | null | undefined;
  if (given?.['detail-type'] !== 'Scheduled Event' || typeof given.time !== 'string') return undefined;
  const ms = Date.parse(given.time);
  // A moment still to come is a run by hand: marking it done would cancel the scheduled runs until then.
  return ms > 0 && ms <= Date.now() + EARLY_MS ? given.time : undefined;
}
