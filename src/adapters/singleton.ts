/**
 * One holder of a name at a time, and once per slot: what the timers of every platform have in common.
 *
 * @module
 */
import { RerunSafeError } from '../core/errors.ts';
import { LEASE_RULES, type Lease, type LeaseResult, type NotAcquired, withLease } from '../core/lease.ts';
import {
  checkOptions,
  either,
  has,
  invalidOptions,
  isFunction,
  isInteger,
  isName,
  isObject,
  isOneOf,
  type Rule,
  type Rules,
} from '../core/options.ts';
import type { LeaseProvider } from '../core/ports.ts';

/** A scheduled moment: epoch ms, a `Date`, or an ISO 8601 string with its zone. */
export type Slot = number | Date | string;

export interface SingletonOptions<I, C> {
  /**
   * Where the lease is kept: `blobLeases(...)`, `storeLeases(store)`, ... Asked with `RERUNSAFE_DISABLED=1` as well: that switches off the guarding of
   * keys alone, since a job is handed a fence, and a made-up one would be taken by no store. For local work give `storeLeases(memoryStore())`.
   */
  readonly leases: LeaseProvider;
  /** The job, by a stable name: `reports/nightly`. Two functions with one name exclude each other. */
  readonly name: string;
  /** How long the lease is held without renewing, ms. Default 60,000, or the most the provider allows. After a crash the name is free after this long. */
  readonly leaseMs?: number;
  /** `auto` (default): renewed every third of the lease while the job runs. */
  readonly renew?: 'auto' | 'none';
  /**
   * The scheduled moment a run stands for, truncated to whole seconds; a slot that is done is not run again. Default: what the platform says.
   * `false`: only overlap is prevented. Once per slot is at-least-once across a crash: a holder that dies leaves its slot open.
   */
  readonly slot?: false | ((input: I, context: C) => Slot | undefined);
  /** Stay taken at least this long, ms, also after the job has ended: for jobs shorter than the clocks are apart. Default 0. */
  readonly minHoldMs?: number;
  /** Somebody else is at it: `skip` this run (default), `throw` `LEASE_HELD`, or wait up to `waitMs`, then skip. */
  readonly onHeld?: 'skip' | 'throw' | { readonly waitMs: number };
  /** A newer slot is already done: `skip` (default), or `run` all the same, without marking a slot. */
  readonly onPassed?: 'skip' | 'run';
  /** Told of every run that was skipped, and why. Default: a line in the platform's log. */
  readonly onSkipped?: (skipped: NotAcquired, input: I, context: C) => unknown;
}

const isWait: Rule = (value) => isObject(value) ?? isInteger(0)((value as { waitMs?: unknown }).waitMs);

/** The rules of {@link SingletonOptions}; adapters add their own. */
export const SINGLETON_RULES: Rules = {
  leases: has('acquire', 'renew', 'release', 'read', 'break'),
  name: isName(512),
  leaseMs: LEASE_RULES.leaseMs as Rule,
  renew: LEASE_RULES.renew as Rule,
  minHoldMs: LEASE_RULES.minHoldMs as Rule,
  onPassed: LEASE_RULES.onPassed as Rule,
  slot: (value) => (value === false ? undefined : isFunction(value) && 'must be a function or false'),
  onHeld: either(isOneOf('skip', 'throw'), isWait),
  onSkipped: isFunction,
};

/** @throws RerunSafeError `INVALID_OPTIONS`, with everything that is wrong, also with what this provider cannot do. */
export function checkSingleton<I, C>(options: SingletonOptions<I, C>, rules: Rules = {}): void {
  checkOptions('singleton', options, { ...SINGLETON_RULES, ...rules }, ['leases', 'name']);
  const { leases, leaseMs } = options;
  const { minLeaseMs, maxLeaseMs } = leases.limits;
  if (leaseMs !== undefined && (leaseMs < minLeaseMs || leaseMs > maxLeaseMs)) {
    throw invalidOptions('singleton', [`leaseMs must be from ${minLeaseMs} to ${maxLeaseMs} for ${leases.name}`]);
  }
}

/** What one call adds. */
export interface SingletonCall {
  readonly slot?: number | undefined;
  /** Who holds it, for people only. */
  readonly label?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly remainingMs?: (() => number) | undefined;
}

/**
 * Runs the job under its lease, or says why not.
 *
 * @throws RerunSafeError `LEASE_HELD` where `onHeld` is `throw`; the provider's failures; and what the job throws, untouched.
 */
export async function runSingleton<I, C, T>(
  options: SingletonOptions<I, C>,
  call: SingletonCall,
  job: (lease: Lease) => T | Promise<T>,
): Promise<LeaseResult<T>> {
  const { leases, name, leaseMs, renew, minHoldMs, onPassed, onHeld = 'skip' } = options;
  const waitMs = typeof onHeld === 'object' ? onHeld.waitMs : undefined;
  const given = { leaseMs, renew, minHoldMs, onPassed, waitMs, ...call };
  const result = await withLease(leases, name, Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)), job);
  if (result.kind === 'held' && onHeld === 'throw') {
    throw leaseHeld(name, result.retryAfterMs);
  }
  return result;
}

export const leaseHeld = (name: string, retryAfterMs: number | undefined): RerunSafeError =>
  new RerunSafeError('LEASE_HELD', `${name}: somebody else is at it. Nothing was run.`, { retryAfterMs, facts: { name } });

/** Why a run was skipped, in words for a log. */
export function whySkipped(name: string, skipped: NotAcquired): string {
  if (skipped.kind === 'held') return `${name}: skipped, somebody else is at it${skipped.label === undefined ? '' : ` (${skipped.label})`}.`;
  if (skipped.kind === 'slot-done') return `${name}: skipped, this slot is already done.`;
  return `${name}: skipped, a newer slot is already done (${new Date(skipped.lastSlot).toISOString()}).`;
}

/** ISO 8601 with a zone: without one, two hosts would read two moments. A date alone is UTC. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Epoch ms, truncated to whole seconds: the same moment reaches a function with and without a fraction.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for what is not a moment: a job without a slot would lose a promise in silence.
 */
export function slotFrom(slot: Slot | undefined): number | undefined {
  if (slot === undefined) return undefined;
  const ms = slot instanceof Date ? slot.getTime() : typeof slot === 'string' ? (MOMENT.test(slot) ? Date.parse(slot) : Number.NaN) : slot;
  if (!Number.isFinite(ms) || ms < 0) {
    throw invalidOptions('singleton', [`slot must be epoch ms, a Date or a text like 2026-01-01T02:00:00Z (with its zone), not ${String(slot)}`]);
  }
  return Math.floor(ms / 1_000) * 1_000;
}
