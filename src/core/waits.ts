/**
 * Waiting for somebody else's outcome: one poll for all callers of this process that wait for the same record.
 *
 * @module
 */
import { bounded } from './bounded.ts';
import type { RecordStore, Stored, System } from './ports.ts';
import type { RecordId } from './record.ts';
import { pause, unlessAborted } from './system.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** A look that hangs must not hold up those who join it. */
const LOOK_LIMIT_MS = 5_000;

interface Poll {
  waiters: number;
  readonly stop: AbortController;
  readonly observed: Promise<Stored | undefined>;
}

const polls = new WeakMap<RecordStore, Map<RecordId, Poll>>();

/** Before the n-th look (from 0): 50 ms growing by half to 1 s, give or take a quarter. */
export const pauseBeforeMs = (round: number, system: System): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** round) * (0.75 + system.random() / 2);

/**
 * Resolves with the next observation of the record, after a pause that grows with `round`; joins a poll that has not looked yet.
 * Rejects with the signal's reason when that aborts, and with the store's error when the read fails.
 */
export async function nextObservation(
  system: System,
  store: RecordStore,
  id: RecordId,
  round: number,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  signal.throwIfAborted();
  const byId = polls.get(store) ?? new Map<RecordId, Poll>();
  polls.set(store, byId);
  const poll = byId.get(id) ?? startPoll(system, store, id, round, byId);
  poll.waiters += 1;
  try {
    return await unlessAborted(poll.observed, signal);
  } finally {
    poll.waiters -= 1;
    if (poll.waiters === 0) poll.stop.abort();
  }
}

function startPoll(system: System, store: RecordStore, id: RecordId, round: number, byId: Map<RecordId, Poll>): Poll {
  const stop = new AbortController();
  const forget = (): void => {
    // A successor may have taken the place already.
    if (byId.get(id) === poll) byId.delete(id);
  };
  const observed = pause(system, pauseBeforeMs(round, system), stop.signal)
    .then(() => {
      // Who comes from now on waits for the next look: this one may answer with what stood there before they came.
      forget();
      return bounded(system, LOOK_LIMIT_MS, (options) => store.read(id, options), stop.signal);
    })
    .finally(forget);
  // The last waiter may have left; the poll then ends unobserved.
  observed.catch(() => {});
  const poll: Poll = { waiters: 0, stop, observed };
  byId.set(id, poll);
  stop.signal.addEventListener('abort', forget, { once: true });
  return poll;
}
