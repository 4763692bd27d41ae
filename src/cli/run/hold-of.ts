/**
 * A run, or a lease, as the hold a command runs under.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import type { Fence } from '../../core/ports.ts';
import type { Hold } from '../hold.ts';

/** A run, or a lease. */
export interface Held {
  readonly fence: Fence | undefined;
  readonly signal: AbortSignal;
  remainingMs(): number;
  assertHeld(minMs?: number): void;
}

/** Its signal tells of a lost lease alone: that of a run aborts with its caller's too. */
export function leaseLostOf(held: Held, leaseMs: number): Hold {
  const lost = new AbortController();
  const look = (): void => {
    if (isRerunSafeError(held.signal.reason, 'LEASE_LOST')) lost.abort(held.signal.reason);
  };
  if (held.signal.aborted) look();
  else held.signal.addEventListener('abort', look, { once: true });
  return {
    fence: held.fence,
    leaseMs,
    signal: lost.signal,
    remainingMs: () => held.remainingMs(),
    assertHeld: () => held.assertHeld(),
  };
}
