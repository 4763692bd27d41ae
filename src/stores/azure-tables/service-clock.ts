/**
 * What response dates tell about the service's clock.
 *
 * @module
 */

/** A `Date` header is cut to whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

/** The offsets (service − host, ms) that agree with every response seen so far. */
interface Offsets {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ServiceClock {
  /** Epoch ms by the service's clock, as far as it is known. */
  nowMs(): number;
  /** `sentAtMs`, `receivedAtMs`: the host's time around the request. */
  learn(dateMs: number, sentAtMs: number, receivedAtMs: number): void;
}

/** Every answer narrows the offset; an answer that contradicts what was known (a clock was set) starts anew. */
export function narrow(known: Offsets | undefined, dateMs: number, sentAtMs: number, receivedAtMs: number): Offsets {
  const seen = { fromMs: dateMs - receivedAtMs, toMs: dateMs + DATE_RESOLUTION_MS - sentAtMs };
  if (known === undefined) return seen;
  const both = { fromMs: Math.max(known.fromMs, seen.fromMs), toMs: Math.min(known.toMs, seen.toMs) };
  return both.fromMs <= both.toMs ? both : seen;
}

/** The smallest correction that agrees with the answers: a host whose clock is right is not moved by the cut-off seconds. */
export const correctionMs = (known: Offsets | undefined): number => (known === undefined ? 0 : Math.min(Math.max(0, known.fromMs), known.toMs));

export function serviceClock(wallMs: () => number = Date.now): ServiceClock {
  let known: Offsets | undefined;
  return {
    nowMs: () => wallMs() + correctionMs(known),
    learn(dateMs, sentAtMs, receivedAtMs) {
      // A wall clock that was set back during the call says nothing about the offset.
      if (Number.isFinite(dateMs) && receivedAtMs >= sentAtMs) known = narrow(known, dateMs, sentAtMs, receivedAtMs);
    },
  };
}
