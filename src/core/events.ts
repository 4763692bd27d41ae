/**
 * What happened, on `node:diagnostics_channel`: `rerunsafe:run` and `rerunsafe:lease`. Costs nothing while nobody listens.
 *
 * @module
 */
import { channel } from 'node:diagnostics_channel';
import { warnNotKept } from './not-kept.ts';
import type { NotKept } from './record.ts';

export type RunEventName =
  | 'claimed'
  | 'replayed'
  | 'waited'
  | 'in-flight'
  | 'key-reused'
  /** No answer for this call, and `error` says why: the store is down or not set up, what is stored cannot be read. Nothing was run. */
  | 'refused'
  | 'completed'
  | 'released'
  | 'remembered'
  | 'unknown'
  | 'blocked'
  | 'taken-over'
  | 'lease-lost'
  | 'save-failed'
  | 'record-vanished'
  | 'unguarded'
  /** `step` is done, and its value could not be kept (`notKept`). */
  | 'step-not-kept';

/** Never carries the key: `id` is its hash. */
export interface RunEvent {
  readonly event: RunEventName;
  readonly operation: string;
  readonly id: string;
  readonly store: string;
  readonly attempt?: number;
  readonly token?: number;
  readonly error?: unknown;
  /** With `completed`: the value could not be kept; later callers get `RESULT_NOT_STORED`. */
  readonly notKept?: NotKept;
  /** Where in the value, and what: `.total is an instance of Money`. */
  readonly notKeptAt?: string;
  /** The name of a step. */
  readonly step?: string;
}

export type LeaseEventName = 'acquired' | 'skipped' | 'renewed' | 'lost' | 'released';

export interface LeaseEvent {
  readonly event: LeaseEventName;
  readonly name: string;
  readonly provider: string;
  readonly token?: number;
  readonly slot?: number;
  /** Why it was skipped: `held`, `slot-done` or `slot-passed`. With `released`, where it was not: `lost`, or `unknown` (no answer). */
  readonly reason?: string;
  /**
   * With `acquired` and `skipped`, and with `released` after a slot was marked: how long ago the last slot that is done was due, ms. For a dead-man alert: a job that hangs is skipped
   * again and again, and this grows. Absent where no slot was ever done, and for Blob leases that are held (ask `read`).
   */
  readonly lastSuccessAgeMs?: number;
  readonly error?: unknown;
}

export const sinceSlot = (lastSlot: number | undefined, nowMs: number): { lastSuccessAgeMs?: number } =>
  lastSlot === undefined ? {} : { lastSuccessAgeMs: Math.max(0, nowMs - lastSlot) };

const runs = channel('rerunsafe:run');
const leases = channel('rerunsafe:lease');

export function tellRun(event: RunEvent): void {
  const { notKept } = event;
  if (notKept !== undefined) warnNotKept({ ...event, notKept });
  if (runs.hasSubscribers) runs.publish(event);
}

export function tellLease(event: LeaseEvent): void {
  if (leases.hasSubscribers) leases.publish(event);
}
