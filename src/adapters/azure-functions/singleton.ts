/**
 * Timers: one run at a time everywhere, and once per scheduled moment.
 *
 * @module
 */
import type { InvocationContext, Timer } from '@azure/functions';
import type { Lease } from '../../core/lease.ts';
import { named } from '../named.ts';
import { checkSingleton, runSingleton, type SingletonOptions, slotFrom, whySkipped } from '../singleton.ts';
import { occurrenceAt } from './schedule.ts';
import { holderOf } from './trigger.ts';

/** The host fires up to a second early. */
const EARLY_MS = 2_000;

/**
 * Wraps the handler of a timer. The lease keeps it from overlapping with itself on other instances, slots, regions and apps that share `name` and
 * the lease's place; the slot keeps one occurrence of the schedule from running twice, which the host alone does not when it loses its own lock.
 *
 * The slot is `timer.scheduleStatus.next`, as the host stored it before this run: the occurrence that is being run. Where the monitor is off
 * (`useMonitor: false`, more than one occurrence a minute) the host does not say it, and it is computed from the schedule (in `WEBSITE_TIME_ZONE`, else
 * UTC). There is none (only overlap is prevented, and a warning says so once) for a TimeSpan schedule without a monitor, and when that moment is still
 * to come (`runOnStartup`, a run by hand): marking it done would cancel the scheduled run. A run that is skipped returns undefined and is logged.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when it is built; when it runs `LEASE_HELD` where `onHeld` is `throw`, and what the lease's place throws.
 * @example
 * app.timer('nightly', { schedule: '0 0 2 * * *', handler: singleton({ leases, name: 'reports/nightly' }, async (timer, context, lease) => { … }) });
 */
export function singleton<T>(
  options: SingletonOptions<Timer, InvocationContext>,
  handler: (timer: Timer, context: InvocationContext, lease: Lease) => T | Promise<T>,
): (timer: Timer, context: InvocationContext) => Promise<T | undefined> {
  checkSingleton(options);
  const { name, onSkipped, slot: chosen } = options;
  let warned = false;
  return named(handler, async (timer: Timer, context: InvocationContext) => {
    const slot = slotFrom(chosen === undefined ? await scheduledMs(timer, context) : chosen === false ? undefined : chosen(timer, context));
    if (slot === undefined && chosen !== false && !warned) {
      warned = true;
      context.warn(
        chosen === undefined
          ? `${name}: this run has no scheduled moment (the timer's monitor is off, or it was started by hand or at start-up), so only overlap is prevented.`
          : `${name}: slot found no moment, so only overlap is prevented.`,
      );
    }
    const result = await runSingleton(options, { slot, label: holderOf(context).slice(0, 200) }, (lease) => handler(timer, context, lease));
    if (result.kind === 'done') return result.value;
    if (onSkipped === undefined) context.log(whySkipped(name, result));
    else await onSkipped(result, timer, context);
    return undefined;
  });
}

async function scheduledMs(timer: Timer, context: InvocationContext): Promise<number | undefined> {
  // The typings say it is always there; the host sends null when the monitor is off.
  const status = timer.scheduleStatus as Timer['scheduleStatus'] | null | undefined;
  if (status === null || status === undefined) return occurrenceAt(context.options.trigger.schedule, Date.now());
  const nextMs = Date.parse(status.next ?? '');
  // Year 1 is what the host writes before it knows.
  return nextMs > 0 && nextMs <= Date.now() + EARLY_MS ? nextMs : undefined;
}
