/**
 * The server's time without a request.
 *
 * @module
 */
export interface ServerTime {
  /** Epoch ms. */
  nowMs(): number;
  /** The moments are the caller's, epoch ms. */
  learn(serverMs: number, sentAtMs: number, receivedAtMs: number): void;
}

/**
 * The server read its clock between our sending and our receiving: that bounds how far it is from ours. What is known is moved into the bounds, and no
 * further: an answer that was looked at late, because the sandbox was frozen, has wide bounds and moves nothing.
 */
export function serverTime(wallMs: () => number = Date.now): ServerTime {
  let offsetMs = 0;
  return {
    nowMs: () => Math.round(wallMs() + offsetMs),
    learn(serverMs, sentAtMs, receivedAtMs) {
      // A clock that stepped back in between says nothing.
      if (!Number.isFinite(serverMs) || receivedAtMs < sentAtMs) return;
      offsetMs = Math.min(Math.max(offsetMs, serverMs - receivedAtMs), serverMs + 1 - sentAtMs);
    },
  };
}
