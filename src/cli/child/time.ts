/**
 * Timers that hold what they promise.
 *
 * @module
 */

/** A longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** `setTimeout` for any length. Returns its end. */
export function after(ms: number, then: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    timer = leftMs > LONGEST_MS ? setTimeout(arm, LONGEST_MS, leftMs - LONGEST_MS) : setTimeout(then, leftMs);
  };
  arm(ms);
  return () => clearTimeout(timer);
}
