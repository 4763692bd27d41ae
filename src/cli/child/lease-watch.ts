/**
 * Nothing may run when its lease has ended: the next holder's may have begun.
 *
 * @module
 */
import type { Hold } from '../hold.ts';
import { after } from './time.ts';

/** What a KILL takes on a busy machine. */
const MARGIN_MS = 500;
const SLOWEST_TICK_MS = 1000;

export interface LeaseWatch {
  /** Looks now: after a stop of our process the timers come later than what we are about to do. */
  look(): void;
  off(): void;
}

/** From TERM to KILL, where the lease is at stake. */
export const graceUnder = (hold: Hold, killAfterMs: number): number => Math.min(killAfterMs, hold.leaseMs / 3);

/**
 * For the end of a command in such a way that it is dead when the lease ends. Where that has ended already (the machine slept) nothing can be saved by haste,
 * and the command may still put in order what it has begun.
 */
export function lastGraceMs(hold: Hold, killAfterMs: number): number {
  const graceMs = graceUnder(hold, killAfterMs);
  const leftMs = hold.remainingMs();
  return leftMs <= 0 ? graceMs : Math.max(0, Math.min(graceMs, leftMs - Math.min(MARGIN_MS, hold.leaseMs / 20)));
}

/**
 * Calls `onEnding` once: when the lease is lost, or has no more left than `earlyMs` (renewals keep far more). Reads the clocks by a ticker, since after a
 * sleep of the machine a timer for the lease's end comes as late as the machine slept.
 */
export function watchLease(hold: Hold, earlyMs: number, onEnding: () => void): LeaseWatch {
  let done = false;
  let stop = (): void => {};
  const off = (): void => {
    done = true;
    stop();
    hold.signal.removeEventListener('abort', end);
  };
  const end = (): void => {
    if (done) return;
    off();
    onEnding();
  };
  const look = (): void => {
    if (done) return;
    const spareMs = hold.remainingMs() - earlyMs;
    stop();
    if (hold.signal.aborted || spareMs <= 0 || isLost(hold)) end();
    else stop = after(Math.min(SLOWEST_TICK_MS, hold.leaseMs / 20, spareMs), look);
  };
  hold.signal.addEventListener('abort', end, { once: true });
  look();
  return { look, off };
}

function isLost(hold: Hold): boolean {
  try {
    hold.assertHeld();
    return false;
  } catch {
    return true;
  }
}
