/**
 * From asking for a named lease to having it, or knowing why not.
 *
 * @module
 */
import { bounded, tryLimitMs } from './bounded.ts';
import { isRerunSafeError, storeUnavailable } from './errors.ts';
import type { LeaseOptions, TryAcquired } from './lease.ts';
import { LiveLease } from './live-lease.ts';
import type { LeaseProvider, System } from './ports.ts';
import type { Owner } from './record.ts';
import { elapsedMs, type Instant, instant, ownRemainingMs, pause } from './system.ts';
import { pauseBeforeMs } from './waits.ts';

/** Answers that come later than the lease they grant are given back and asked for anew, at most so often. */
const MOST_LATE_ANSWERS = 3;

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

  async acquire(): Promise<TryAcquired> {
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
          return { kind: 'acquired', lease: this.#lease(owner, got.token, sentAt, slot) };
        await this.#giveBack(owner);
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
    for (let tries = 0, doubt = false; ; tries++) {
      try {
        return await bounded(this.#system, tryLimitMs(this.#leaseMs), (options) => this.#leases.acquire(this.#name, request, options), signal);
      } catch (error) {
        doubt ||= isRerunSafeError(error, 'WRITE_UNKNOWN');
        const transient = doubt && (isRerunSafeError(error, 'WRITE_UNKNOWN') || isRerunSafeError(error, 'STORE_UNAVAILABLE'));
        if (!transient) throw error;
        const pauseMs = pauseBeforeMs(tries, this.#system);
        if (signal?.aborted || ownRemainingMs(sentAt, this.#leaseMs, this.#system.clock) <= pauseMs) {
          await this.#giveBack(owner);
          signal?.throwIfAborted();
          throw error;
        }
        await pause(this.#system, pauseMs, signal).catch(() => {});
      }
    }
  }

  /** Once, best effort: what is not given back ends by its lease. */
  async #giveBack(owner: Owner): Promise<void> {
    await bounded(this.#system, 2_000, (options) => this.#leases.release(this.#name, { owner, token: 0 }, options)).catch(() => {});
  }

  #lease(owner: Owner, token: number, sentAt: Instant, slot: number | undefined): LiveLease {
    return new LiveLease(this.#leases, this.#name, { owner, token, leaseMs: this.#leaseMs }, sentAt, slot, this.#options, this.#system);
  }
}
