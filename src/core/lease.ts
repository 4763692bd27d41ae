/**
 * Named leases: one holder at a time, a token that grows with each, and a loss that the holder is told of.
 *
 * A lease alone is no mutual exclusion: a paused holder may wake up late. Hand `lease.fence` to the stores you write to.
 *
 * @module
 */
import { Acquisition } from './acquisition.ts';
import { sinceSlot, tellLease } from './events.ts';
import { DEFAULT_LEASE_MS, MAX_WAIT_MS } from './guard.ts';
import { isObserved, observed } from './observed.ts';
import { checkOptions, has, invalidOptions, isFunction, isInteger, isName, isOneOf, isSignal, type Rules } from './options.ts';
import type { Fence, LeaseProvider, System } from './ports.ts';
import { realSystem } from './system.ts';

export interface LeaseOptions {
  /** How long it is held without renewing, ms. Default 60,000, or the most the provider allows. After a crash it is free after this long. */
  readonly leaseMs?: number;
  /** `auto` (default): renewed every third of the lease until released. */
  readonly renew?: 'auto' | 'none';
  /** The scheduled moment this run stands for, epoch ms: a slot that is marked done is not handed out again. */
  readonly slot?: number;
  /** Stay taken at least this long from the acquisition, ms, also after the release: for jobs shorter than the clocks are apart. Default 0. */
  readonly minHoldMs?: number;
  /** A newer slot is already done: `skip` (default), or `run` all the same, without marking a slot. */
  readonly onPassed?: 'skip' | 'run';
  /** Wait up to so long for the present holder, ms. Default 0: one look. */
  readonly waitMs?: number;
  /** Who holds it, for people only. */
  readonly label?: string;
  /** Cancels waiting, and aborts the lease's signal. */
  readonly signal?: AbortSignal;
  /** Time left to the whole invocation, ms. Given by the adapters. */
  readonly remainingMs?: () => number;
}

export const LEASE_RULES: Rules = {
  leaseMs: isInteger(100, MAX_WAIT_MS),
  renew: isOneOf('auto', 'none'),
  slot: isInteger(0),
  minHoldMs: isInteger(0, MAX_WAIT_MS),
  onPassed: isOneOf('skip', 'run'),
  waitMs: isInteger(0, MAX_WAIT_MS),
  label: isName(200),
  signal: isSignal,
  remainingMs: isFunction,
};

export interface Lease extends AsyncDisposable {
  readonly name: string;
  readonly token: number;
  readonly fence: Fence;
  /** Aborts with `LEASE_LOST`. Advisory: {@link assertHeld} is the check. */
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** @throws RerunSafeError `LEASE_LOST` when less than `minMs` (default 0) is left, by either of two clocks. */
  assertHeld(minMs?: number): void;
  /** Renews at once. @throws RerunSafeError `LEASE_LOST`, or the provider's doubt. */
  renew(): Promise<void>;
  /** Never throws. `slotDone`: mark the slot as done. `unknown`: no answer; the lease ends by itself. */
  release(options?: { slotDone?: boolean }): Promise<'released' | 'lost' | 'unknown'>;
}

export type NotAcquired =
  | { readonly kind: 'held'; readonly retryAfterMs?: number; readonly label?: string; readonly lastSlot?: number }
  | { readonly kind: 'slot-done' }
  | { readonly kind: 'slot-passed'; readonly lastSlot: number };
export type TryAcquired = { readonly kind: 'acquired'; readonly lease: Lease } | NotAcquired;
/** `released`: `lost` where somebody else had it by then, and its slot is not marked; `unknown` where no answer came, and it ends by itself. */
export type LeaseResult<T> = { readonly kind: 'done'; readonly value: T; readonly released: 'released' | 'lost' | 'unknown' } | NotAcquired;

/**
 * Takes a named lease, or says why not. What is "not acquired" is a value; doubt is thrown.
 *
 * @example
 * const got = await tryAcquire(leases, 'nightly-report', { leaseMs: 30_000 });
 * if (got.kind !== 'acquired') return;
 * await using lease = got.lease;
 * @throws RerunSafeError `INVALID_OPTIONS`, `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`, `WRITE_UNKNOWN`.
 */
export async function tryAcquire(leases: LeaseProvider, name: string, options: LeaseOptions = {}, system: System = realSystem): Promise<TryAcquired> {
  return acquire(checked('tryAcquire', leases, name, options), leases, name, options, system);
}

/** How long it is to be held. */
function checked(what: string, leases: LeaseProvider, name: string, options: LeaseOptions): number {
  checkOptions(what, options, LEASE_RULES);
  const wrong = PROVIDER(leases) ?? isName(512)(name);
  if (wrong !== undefined) throw invalidOptions(what, [`the ${PROVIDER(leases) === undefined ? 'name' : 'first argument'} ${wrong}`]);
  const { minLeaseMs, maxLeaseMs } = leases.limits;
  const leaseMs = options.leaseMs ?? Math.min(DEFAULT_LEASE_MS, maxLeaseMs);
  if (leaseMs < minLeaseMs || leaseMs > maxLeaseMs) {
    throw invalidOptions(what, [`leaseMs must be from ${minLeaseMs} to ${maxLeaseMs} for ${leases.name}`]);
  }
  return leaseMs;
}

async function acquire(leaseMs: number, leases: LeaseProvider, name: string, options: LeaseOptions, system: System): Promise<TryAcquired> {
  const got = await new Acquisition(leases, name, leaseMs, options, system).acquire();
  const told = { name, provider: leases.name, ...slotOf(options) };
  if (got.kind === 'acquired') {
    const { lease, lastSlot } = got;
    tellLease({ event: 'acquired', token: lease.token, ...told, ...sinceSlot(lastSlot, system.clock.wallMs()) });
    return { kind: 'acquired', lease };
  }
  const lastSlot = got.kind === 'slot-done' ? options.slot : got.lastSlot;
  tellLease({ event: 'skipped', reason: got.kind, ...told, ...sinceSlot(lastSlot, system.clock.wallMs()) });
  return got;
}

/**
 * Runs `work` while holding a named lease; releases it on every path. The work's own result or error always wins over a failed release. A slot is
 * marked done only when the work succeeded.
 */
export async function withLease<T>(
  leases: LeaseProvider,
  name: string,
  options: LeaseOptions,
  work: (lease: Lease) => T | Promise<T>,
  system: System = realSystem,
): Promise<LeaseResult<T>> {
  if (typeof work !== 'function') throw invalidOptions('withLease', ['the work must be a function']);
  const leaseMs = checked('withLease', leases, name, options);
  const run = async (): Promise<LeaseResult<T>> => underLease(await acquire(leaseMs, leases, name, options, system), work);
  return isObserved() ? observed({ kind: 'lease', name, provider: leases.name }, run) : run();
}

async function underLease<T>(got: TryAcquired, work: (lease: Lease) => T | Promise<T>): Promise<LeaseResult<T>> {
  if (got.kind !== 'acquired') return got;
  let value: T;
  try {
    // Who was told of it may have taken longer than the lease to hear of it.
    got.lease.assertHeld();
    value = await work(got.lease);
  } catch (error) {
    await got.lease.release();
    throw error;
  }
  return { kind: 'done', value, released: await got.lease.release({ slotDone: true }) };
}

/** A record store is no lease provider; `storeLeases(store)` makes one of it. */
const PROVIDER = has('acquire', 'renew', 'release');

const slotOf = ({ slot }: LeaseOptions): { slot?: number } => (slot === undefined ? {} : { slot });
