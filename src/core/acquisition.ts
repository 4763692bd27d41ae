/**
 * From asking for a named lease to having it, or knowing why not.
 *
 * @module
 */
import { bounded, tryLimitMs, withinInvocation } from './bounded.ts';
import { isRerunSafeError, storeUnavailable, writeUnknown } from './errors.ts';
import type { Lease, LeaseOptions, NotAcquired } from './lease.ts';
import { LiveLease } from './live-lease.ts';
import type { LeaseProvider, System } from './ports.ts';
import type { Owner } from './record.ts';
import { elapsedMs, type Instant, instant, ownRemainingMs, pause } from './system.ts';
import { pauseBeforeMs } from './waits.ts';

/** Answers that come later than the lease they grant are given back and asked for anew, at most so often. */
const MOST_LATE_ANSWERS = 3;
const GIVE_BACK_TRIES = 3;

export interface AcquiredLease {
  readonly kind: 'acquired';
  readonly lease: Lease;
  readonly lastSlot: number | undefined;
}

export class Acquisition {
  readonly #leases: LeaseProvider;
  readonly #name: string;
  readonly #leaseMs: number;
  readonly #options: LeaseOptions;
  readonly #system: System;

  constructor(leases: LeaseProvider, name: string, leaseMs: number, options: LeaseOptions, system: System) {
    this.#leases = leases;
    this.#name = name;
    this.#leaseMs = leaseMs;
    this.#options = options;
    this.#system = system;
  }

  async acquire(): Promise<AcquiredLease | NotAcquired> {
    const { waitMs = 0, remainingMs, signal, onPassed } = this.#options;
    const startedAt = instant(this.#system.clock);
    let { slot } = this.#options;
    for (let looks = 0, late = 0; ; looks++) {
      signal?.throwIfAborted();
      const owner = this.#system.nonce();
      const sentAt = instant(this.#system.clock);
      const got = await this.#ask(owner, sentAt, slot);
      if (got.kind === 'slot-passed' && onPassed === 'run') {
        slot = undefined;
        continue;
      }
      if (got.kind === 'acquired') {
        if (ownRemainingMs(sentAt, this.#leaseMs, this.#system.clock) > 0)
          return { kind: 'acquired', lease: this.#lease(owner, got.token, sentAt, slot), lastSlot: got.lastSlot };
        // While it may still stand, it is neither free nor somebody else's.
        if (!(await this.#giveBack(owner)))
          throw writeUnknown(`the lease on "${this.#name}", which came too late and could not be given back`, undefined);
        if (++late >= MOST_LATE_ANSWERS)
          throw storeUnavailable(`${this.#leases.name} answers later than the lease of ${this.#leaseMs} ms it grants`, undefined);
        continue;
      }
      if (got.kind !== 'held') return got;
      const leftMs = Math.min(waitMs - elapsedMs(startedAt, this.#system.clock), remainingMs?.() ?? Number.POSITIVE_INFINITY);
      if (leftMs <= 0) return got;
      await pause(this.#system, Math.min(leftMs, pauseBeforeMs(looks, this.#system)), signal);
    }
  }

  /** Asks again with the same owner while there is no answer: if the first request landed, it gives the same lease. */
  async #ask(owner: Owner, sentAt: Instant, slot: number | undefined): ReturnType<LeaseProvider['acquire']> {
    const { label, signal } = this.#options;
    const request = { owner, leaseMs: this.#leaseMs, ...(label === undefined ? {} : { label }), ...(slot === undefined ? {} : { slot }) };
    let doubt: unknown;
    for (let tries = 0; ; tries++) {
      try {
        return await bounded(this.#system, tryLimitMs(this.#leaseMs), (options) => this.#leases.acquire(this.#name, request, options), signal);
      } catch (error) {
        if (isRerunSafeError(error, 'WRITE_UNKNOWN')) doubt = error;
        // A store that is away now settles its own try, not an earlier one that got no answer.
        if (doubt === undefined || !(isRerunSafeError(error, 'WRITE_UNKNOWN') || isRerunSafeError(error, 'STORE_UNAVAILABLE'))) throw error;
        const pauseMs = pauseBeforeMs(tries, this.#system);
        if (signal?.aborted || ownRemainingMs(sentAt, this.#leaseMs, this.#system.clock) <= pauseMs) {
          await this.#giveBack(owner);
          signal?.throwIfAborted();
          throw doubt;
        }
        await pause(this.#system, pauseMs, signal).catch(() => {});
      }
    }
  }

  /** What is not given back ends by its lease. */
  async #giveBack(owner: Owner): Promise<boolean> {
    const release = (): Promise<unknown> =>
      bounded(this.#system, withinInvocation(2_000, this.#invocationMs()), (options) =>
        this.#leases.release(this.#name, { owner, token: 0 }, options),
      );
    for (let tries = 0; tries < GIVE_BACK_TRIES; tries++) {
      try {
        await release();
        return true;
      } catch (error) {
        if (!isRerunSafeError(error) || !error.retryable || this.#invocationMs() <= 0) return false;
        await pause(this.#system, pauseBeforeMs(tries, this.#system), this.#options.signal).catch(() => {});
      }
    }
    return false;
  }

  #invocationMs(): number {
    return this.#options.remainingMs?.() ?? Number.POSITIVE_INFINITY;
  }

  #lease(owner: Owner, token: number, sentAt: Instant, slot: number | undefined): LiveLease {
    return new LiveLease(this.#leases, this.#name, { owner, token, leaseMs: this.#leaseMs }, sentAt, slot, this.#options, this.#system);
  }
}
