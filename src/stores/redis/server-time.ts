/**
 * The server's time without a request, from what its answers told.
 *
 * @module
 */

export interface ServerTime {
  isKnown(): boolean;
  /** Epoch ms: never ahead of the server, so that no token is either. Before the first answer: this host's own clock. */
  nowMs(): number;
  /** Epoch ms: never behind what the server's clock shows at that moment of ours (as {@link localMs} gives it). */
  latestMs(atLocalMs: number): number;
  localMs(): number;
  /** What the server's clock showed at some moment between two of ours. */
  learn(serverMs: number, sentAtMs: number, receivedAtMs: number): void;
}

/** Measured by a clock that never steps: where that stood still with its host, time is behind until the next answer, which is the side that does no harm. */
export function serverTime(localMs: () => number = () => performance.now(), wallMs: () => number = Date.now): ServerTime {
  let low = Number.NEGATIVE_INFINITY;
  let high = Number.POSITIVE_INFINITY;
  const isKnown = (): boolean => Number.isFinite(low);
  return {
    isKnown,
    localMs,
    nowMs: () => (isKnown() ? Math.floor(localMs() + low) : wallMs()),
    latestMs: (atLocalMs) => Math.ceil(isKnown() ? atLocalMs + high : wallMs() + (atLocalMs - localMs())),
    learn(serverMs, sentAtMs, receivedAtMs) {
      const least = serverMs - receivedAtMs;
      // It is cut to whole milliseconds.
      const most = serverMs + 1 - sentAtMs;
      // One of the clocks was set, or stood still, or has drifted, or another server answers: what was known before is worth nothing.
      const isNews = least > high || most < low;
      low = isNews ? least : Math.max(low, least);
      high = isNews ? most : Math.min(high, most);
    },
  };
}
