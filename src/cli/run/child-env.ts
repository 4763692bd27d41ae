/**
 * What the command finds in its environment, so that it can hand on its key and fence its own writes.
 *
 * @module
 */
import type { Fence } from '../../core/ports.ts';

export interface Told {
  readonly key: string;
  /** undefined: they are not counted. */
  readonly attempt: number | undefined;
  readonly fence: Fence | undefined;
  /** What the fence is of. */
  readonly kind: 'run' | 'lease';
  readonly store: string;
  readonly slotMs?: number;
}

export const CHILD_ENV: readonly (readonly [name: string, meaning: string])[] = [
  ['IDEMPOTENCY_KEY', 'the same in every attempt, another one for every key (and slot): to be sent to whoever is called'],
  ['IDEMPOTENCY_ATTEMPT', 'which attempt this is, from 1, and from 1 again after resolve, forget and a rerun; mode once only'],
  ['IDEMPOTENCY_FENCING_TOKEN', 'grows with every change of owner: a store that compares it refuses a stale command'],
  ['RERUNSAFE_FENCE', 'the fence as JSON: { kind, id, owner, token }'],
  ['RERUNSAFE_STORE', 'where the fence is kept: with it, `rerunsafe assert` asks whether the lease still is held'],
  ['RERUNSAFE_SLOT', 'mode slot: the scheduled moment, ISO 8601'],
];

export const childEnv = ({ key, attempt, fence, kind, store, slotMs }: Told): Record<string, string> => ({
  IDEMPOTENCY_KEY: key,
  IDEMPOTENCY_ATTEMPT: attempt === undefined ? '' : String(attempt),
  RERUNSAFE_STORE: store,
  // Empty, not left out: a guard around this one would lend its own.
  IDEMPOTENCY_FENCING_TOKEN: fence === undefined ? '' : String(fence.token),
  RERUNSAFE_FENCE: fence === undefined ? '' : JSON.stringify({ kind, ...fence }),
  RERUNSAFE_SLOT: slotMs === undefined ? '' : new Date(slotMs).toISOString(),
});
