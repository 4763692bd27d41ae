/**
 * What a command runs under: a record's lease or a named one.
 *
 * @module
 */
import type { Fence } from '../core/ports.ts';

export interface Hold {
  readonly fence: Fence | undefined;
  readonly leaseMs: number;
  /** Aborts when the lease is lost. Late after a sleep of the machine: {@link assertHeld} is the check. */
  readonly signal: AbortSignal;
  /** It is free the moment our process dies, and not only when its time is over. Default false. */
  readonly endsWithUs?: boolean;
  remainingMs(): number;
  /** @throws RerunSafeError `LEASE_LOST` */
  assertHeld(): void;
}
