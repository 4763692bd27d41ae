/**
 * Putting a large outcome beside its record, before the record that names it is written; and getting it from there.
 *
 * @module
 */
import { bounded, tryLimitMs } from './bounded.ts';
import type { CallFacts } from './claim.ts';
import { isRerunSafeError, storeUnavailable } from './errors.ts';
import { inParts, type Part, putParts, takeParts } from './parts.ts';
import type { RecordStore, System } from './ports.ts';
import type { Outcome, Owner, RecordId, Whole } from './record.ts';
import { elapsedMs, instant, pause } from './system.ts';
import { pauseBeforeMs } from './waits.ts';

interface Record {
  readonly system: System;
  readonly store: RecordStore;
  readonly id: RecordId;
  readonly owner: Owner;
  /** How long the record will be kept, and how long it may be until it is written, ms. */
  readonly keepMs: number;
}

export interface Patience {
  /** For one request, ms. */
  limitMs(): number;
  /** Of the lease, ms: so long a request is tried again. */
  remainingMs(): number;
  progressed?(): void;
}

/**
 * What goes into the record: the outcome, or where it lies. Tried as a completion is: at least once, and until the lease ends.
 *
 * @throws RerunSafeError `STORE_UNAVAILABLE`, also where nobody knows what became of a part: of the record nothing was written.
 */
export async function putBeside({ system, store, id, owner, keepMs }: Record, outcome: Whole, patience: Patience): Promise<Outcome> {
  const large = inParts(outcome, owner, store.limits);
  if (large === undefined) return outcome;
  const put = async ({ name, bytes }: Part): Promise<void> => {
    for (let tries = 0; ; tries++) {
      try {
        await bounded(system, patience.limitMs(), async (options) => store.putPart?.(id, name, bytes, { ...options, keepMs }));
        return patience.progressed?.();
      } catch (failure) {
        const leftMs = patience.remainingMs();
        if (!isRerunSafeError(failure) || !failure.retryable || leftMs <= 0) throw failure;
        await pause(system, Math.min(pauseBeforeMs(tries, system), Math.max(1, leftMs)));
      }
    }
  };
  try {
    await putParts(large.parts, put);
  } catch (error) {
    throw isRerunSafeError(error, 'WRITE_UNKNOWN') ? storeUnavailable('a part of the outcome', error) : error;
  }
  return large.outcome;
}

/** A request that is sent at all has so long. */
const LEAST_MS = 100;

/** What an attempt puts beside its record. */
export class OutcomeParts {
  readonly #facts: CallFacts;
  readonly #owner: Owner;
  readonly #patience: Patience;
  #again: (() => Promise<unknown>) | undefined;

  constructor(facts: CallFacts, owner: Owner, patience: Patience) {
    this.#facts = facts;
    this.#owner = owner;
    this.#patience = patience;
  }

  /** @throws as {@link putBeside}. */
  async put(outcome: Whole, as: 'completed' | 'error'): Promise<Outcome> {
    const { system, guard, id, leaseMs, retention } = this.#facts;
    if (guard.store.limits.parts === undefined) return outcome;
    const { limitMs, remainingMs } = this.#patience;
    const put = (): Promise<Outcome> => {
      let since = instant(system.clock);
      // The record is still to be written under it: a quarter of what there is now, which late in a long lease is not much.
      const reserveMs = Math.min(leaseMs, remainingMs()) / 4;
      const leftMs = (): number => remainingMs() - reserveMs;
      const patience = {
        limitMs: () => Math.max(LEAST_MS, Math.min(limitMs(), leftMs())),
        // The lease is renewed meanwhile, which must not make it last for ever where nothing gets through.
        remainingMs: () => Math.min(leftMs(), leaseMs - elapsedMs(since, system.clock)),
        progressed: () => {
          since = instant(system.clock);
        },
      };
      return putBeside({ system, store: guard.store, id, owner: this.#owner, keepMs: retention[as] + leaseMs }, outcome, patience);
    };
    const kept = await put();
    this.#again = kept.kind === 'parts' ? put : undefined;
    return kept;
  }

  /** Where it cannot be put within the lease, the work is done all the same and must not start again for it: then its value is not kept. */
  async putOrLeave(outcome: Whole, as: 'completed' | 'error'): Promise<Outcome> {
    try {
      return await this.put(outcome, as);
    } catch (error) {
      if (!isRerunSafeError(error)) throw error;
      return { kind: 'not-stored', reason: 'not-taken' };
    }
  }

  /** The record is gone, and what removed it may have removed them too. Answers what is in the way. */
  async putAgain(): Promise<unknown> {
    try {
      await this.#again?.();
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

/** @throws RerunSafeError as {@link takeParts}; the reason of the call's signal. */
export async function takeBeside({ system, guard, id, leaseMs, signal }: CallFacts, outcome: Outcome): Promise<Whole> {
  try {
    return await takeParts(guard.store, id, outcome, (request) => bounded(system, tryLimitMs(leaseMs), request, signal));
  } catch (error) {
    signal?.throwIfAborted();
    // It was only read.
    throw isRerunSafeError(error, 'WRITE_UNKNOWN') ? storeUnavailable('read a part of the outcome', error) : error;
  }
}
