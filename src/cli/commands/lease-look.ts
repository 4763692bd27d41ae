/**
 * How a named lease stands.
 *
 * @module
 */

import { isName } from '../../core/options.ts';
import type { Stored } from '../../core/ports.ts';
import { isLapsed } from '../../core/record.ts';
import { leaseRowId } from '../../core/store-leases.ts';
import { formatDuration } from '../duration.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { harmless } from './harmless.ts';
import { isoOf, moment } from './when.ts';

export interface LeaseLook {
  /** `minimum-hold`: nobody holds it, and it stays taken for a while. */
  readonly state: 'held' | 'minimum-hold' | 'free' | 'none';
  readonly token?: number;
  /** Who holds it, or held it last. */
  readonly holder?: string;
  readonly remainingMs?: number;
  /** The last slot that is done, epoch ms. */
  readonly lastSlot?: number;
}

/** @throws UsageError for what can be no lease's name. */
export async function lookAtLease(place: OpenPlace, name: string): Promise<LeaseLook> {
  const wrong = isName(512)(name);
  if (wrong !== undefined) throw new UsageError(`the name of a lease ${wrong}`);
  if (place.store !== undefined) {
    // The row says more than the port: a minimum hold, and who held it last.
    const stored = await place.store.read(leaseRowId(name));
    return stored === undefined ? { state: 'none' } : leaseOf(stored, place.store.clock.uncertaintyMs);
  }
  const standing = await place.leases.read(name);
  if (standing === undefined) return { state: 'none' };
  const { held, token, owner, label, remainingMs, lastSlot } = standing;
  return {
    state: held ? (owner === undefined && remainingMs !== undefined ? 'minimum-hold' : 'held') : 'free',
    token,
    ...(label === undefined ? {} : { holder: label }),
    ...(remainingMs === undefined ? {} : { remainingMs }),
    ...(lastSlot === undefined ? {} : { lastSlot }),
  };
}

export function leaseOf({ record, ageMs }: Stored, uncertaintyMs: number): LeaseLook {
  const { state, token, holder, leaseMs, slot } = record;
  const leftMs = Math.max(0, leaseMs - ageMs);
  const isHeld = state === 'running' && !isLapsed(record, ageMs, uncertaintyMs);
  const staysTaken = state === 'released' && leaseMs > 0 && leaseMs + uncertaintyMs > ageMs;
  return {
    state: isHeld ? 'held' : staysTaken ? 'minimum-hold' : 'free',
    token,
    ...(holder === undefined ? {} : { holder }),
    ...(isHeld || staysTaken ? { remainingMs: leftMs } : {}),
    ...(slot === undefined ? {} : { lastSlot: slot }),
  };
}

export function leaseSentence({ state, token, holder, remainingMs, lastSlot }: LeaseLook, nowMs: number): string {
  const who = holder === undefined ? '' : ` by ${harmless(holder)}`;
  const left = remainingMs === undefined ? '' : `, ${formatDuration(remainingMs)} left`;
  const slot = lastSlot === undefined ? '' : `; the last slot that is done: ${moment(lastSlot, nowMs)}`;
  switch (state) {
    case 'held':
      return `token ${token}${who}${left}${slot}`;
    case 'minimum-hold':
      return `token ${token}; nobody holds it, it stays taken for its minimum hold${left}${slot}`;
    case 'free':
      return `token ${token}${holder === undefined ? '' : `, last held${who}`}${slot}`;
    case 'none':
      return 'nobody has taken it yet';
  }
}

/** For programs. */
export const leaseFacts = (name: string, { state, token, holder, remainingMs, lastSlot }: LeaseLook) => ({
  name,
  state,
  held: state === 'held',
  token: token ?? null,
  holder: holder ?? null,
  remainingMs: remainingMs ?? null,
  lastSlot: isoOf(lastSlot),
});
