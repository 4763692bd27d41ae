/**
 * One Lambda invocation: how long it still has, and what ends with it. Nothing of it outlives the handler: the sandbox freezes in between, and a
 * timer left over would fire inside the next invocation.
 *
 * @module
 */
import type { Context } from 'aws-lambda';
import { GUARD_RULES, type GuardOptions, MAX_WAIT_MS } from '../../core/guard.ts';
import { isInteger, type Rules } from '../../core/options.ts';
import type { System } from '../../core/ports.ts';
import { elapsedMs, instant, realSystem } from '../../core/system.ts';
import { refuseDurable } from './durable.ts';

/** Guard options as they are in Lambda: the time that is left and the cancellation come from the invocation. */
export interface LambdaGuardOptions<T> extends Omit<GuardOptions<T>, 'remainingMs' | 'signal'>, DeadlineOptions {
  /**
   * How long an attempt holds its record, ms. Default: what is left to the invocation + 1 s, since Lambda ends everything at its limit; without a
   * known limit 60,000. A shorter one with `renew: 'auto'` makes a crashed key free sooner.
   */
  readonly leaseMs?: number;
  /** Default `none`: the lease already lasts as long as the invocation can. */
  readonly renew?: 'auto' | 'none';
}

export interface DeadlineOptions {
  /**
   * So long before Lambda's own limit, ms, the run's signal aborts and nothing new is begun (no wait, no further item), so that there is time to
   * give up properly. At most half of what is left at the start. Default 500, in batches 1,000.
   */
  readonly deadlineMarginMs?: number;
}

export const DEADLINE_RULES: Rules = { deadlineMarginMs: isInteger(0, 900_000) };

const { remainingMs: _, signal: __, ...rules } = GUARD_RULES;
export const LAMBDA_RULES: Rules = { ...rules, ...DEADLINE_RULES };

export const DEADLINE_MARGIN_MS = 500;
/** What is left is read a little before the lease is taken, and Lambda's end comes a little after its limit. */
const LEASE_GRACE_MS = 1_000;
/** Waits run out by themselves first, and say `IN_FLIGHT`; one that is cancelled could not. */
const AFTER_WAITS_MS = 20;

export interface Invocation {
  /** Who runs it, for people only. */
  readonly holder: string | undefined;
  /** Aborts shortly before Lambda's own limit, with a `TimeoutError`. */
  readonly signal: AbortSignal;
  /** Until {@link signal} aborts, ms. Infinity where Lambda's limit is unknown. */
  remainingMs(): number;
  /** For a lease taken now; undefined: the default. */
  leaseMs(): number | undefined;
}

/**
 * Runs `work` within the limits of an invocation, and leaves no timer behind.
 *
 * A remaining time that is zero, negative, missing or no number at the start is taken for unknown: a test event, or a clock that makes no sense;
 * work refused for that reason would be refused for ever.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` within a durable execution.
 */
export async function inInvocation<R>(
  event: unknown,
  context: Context | undefined,
  marginMs: number,
  work: (invocation: Invocation) => Promise<R>,
  system: System = realSystem,
): Promise<R> {
  refuseDurable(event, context);
  const toldMs = (): number => context?.getRemainingTimeInMillis?.() ?? Number.NaN;
  const atStart = toldMs();
  const holder = holderOf(context);
  const controller = new AbortController();
  if (!(atStart > 0 && atStart < MAX_WAIT_MS)) {
    return work({ holder, signal: controller.signal, remainingMs: () => Number.POSITIVE_INFINITY, leaseMs: () => undefined });
  }
  const startedAt = instant(system.clock);
  // What is told must make sense; else it counts on from what was told at the start. Below zero it does: a sandbox that was frozen.
  const leftMs = (): number => {
    const told = toldMs();
    return Number.isFinite(told) && told <= atStart ? told : atStart - elapsedMs(startedAt, system.clock);
  };
  const margin = Math.min(marginMs, atStart / 2);
  const end = (): void => controller.abort(new DOMException('This Lambda invocation is about to reach its time limit.', 'TimeoutError'));
  const cancel = system.timers.after(atStart - margin + AFTER_WAITS_MS, end, { keepAlive: true });
  try {
    return await work({
      holder,
      signal: controller.signal,
      remainingMs: () => Math.max(0, leftMs() - margin),
      leaseMs: () => Math.ceil(Math.max(0, leftMs())) + LEASE_GRACE_MS,
    });
  } finally {
    cancel();
  }
}

/** Ends what has to come first while there is time for what follows it. */
export async function inHalfTheTime<R>(invocation: Invocation, work: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const leftMs = invocation.remainingMs();
  if (leftMs === Number.POSITIVE_INFINITY) return work(invocation.signal);
  const half = new AbortController();
  const end = (): void => half.abort(new DOMException('No answer within half of the time that was left.', 'TimeoutError'));
  const cancel = realSystem.timers.after(leftMs / 2, end, { keepAlive: true });
  try {
    return await work(half.signal);
  } finally {
    cancel();
  }
}

function holderOf(context: Context | undefined): string | undefined {
  if (context?.awsRequestId === undefined) return undefined;
  return `${context.functionName ?? 'lambda'} ${context.awsRequestId}`;
}
