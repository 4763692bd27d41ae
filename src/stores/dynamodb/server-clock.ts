/**
 * The service stamps nothing by its own clock, so the caller's is used, and corrected where the `Date` of a response proves it wrong.
 *
 * @module
 */

export interface ServerClock {
  /** Epoch ms. */
  nowMs(): number;
  /** What is added to the caller's clock for that, ms. */
  offsetMs(): number;
  /** `date`: the header of a response; the moments are the caller's, epoch ms. */
  learn(date: string | undefined, sentAtMs: number, receivedAtMs: number): void;
}

/**
 * Each `Date` bounds the offset from both sides: the service wrote it between our sending and our receiving, and cut it to whole seconds. Within the
 * bounds the caller's clock is believed; outside, their middle is taken. A plain "date minus now" would be wrong by as long as a sandbox was frozen
 * before it looked at its answer, and a record stamped too early is taken over while its owner still works.
 */
export function serverClock(wallMs: () => number = Date.now): ServerClock {
  let lowMs = Number.NEGATIVE_INFINITY;
  let highMs = Number.POSITIVE_INFINITY;
  const offsetMs = (): number => (lowMs <= 0 && highMs >= 0 ? 0 : (lowMs + highMs) / 2);
  return {
    nowMs: () => Math.round(wallMs() + offsetMs()),
    offsetMs,
    learn(date, sentAtMs, receivedAtMs) {
      const dateMs = Date.parse(date ?? '');
      // A clock that stepped back in between would give bounds the wrong way round.
      if (Number.isNaN(dateMs) || receivedAtMs < sentAtMs) return;
      const low = dateMs - receivedAtMs;
      const high = dateMs + 1000 - sentAtMs;
      const disjoint = low > highMs || high < lowMs;
      // Disjoint bounds mean that the caller's clock was set meanwhile: what was known before is worth nothing.
      lowMs = disjoint ? low : Math.max(lowMs, low);
      highMs = disjoint ? high : Math.min(highMs, high);
    },
  };
}

/** Somebody else's clock, believed as it is. */
export const uncorrected = (clock: { nowMs(): number }): ServerClock => ({ nowMs: () => clock.nowMs(), offsetMs: () => 0, learn: () => {} });
