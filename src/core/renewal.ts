/**
 * Renewing every third of the lease, until stopped. A renewal without an answer is unknown: the old deadline stays, and it is tried again soon.
 *
 * @module
 */

import type { Lifetime } from './lifetime.ts';
import type { System } from './ports.ts';
import type { Instant } from './system.ts';

/** `lost` is definite; a throw is unknown. `sentAt`: when the write that stands was first sent. */
export type RenewOnce = (signal: AbortSignal) => Promise<{ readonly kind: 'renewed'; readonly sentAt: Instant } | { readonly kind: 'lost' }>;

/** Not the default reason: an error with a stack would cost more than all else on the way. */
const STOPPED = 'the work has settled';

export class Renewal {
  readonly #system: System;
  readonly #lifetime: Lifetime;
  readonly #leaseMs: number;
  readonly #renewOnce: RenewOnce;
  #stopped = false;
  #underWay: AbortController | undefined;
  #cancelTimer = (): void => {};
  #running: Promise<void> | undefined;

  constructor(system: System, lifetime: Lifetime, leaseMs: number, renewOnce: RenewOnce) {
    this.#system = system;
    this.#lifetime = lifetime;
    this.#leaseMs = leaseMs;
    this.#renewOnce = renewOnce;
    this.#schedule(leaseMs / 3);
  }

  /** No renewal is sent after this; one under way is given up. */
  stop(): Promise<void> | undefined {
    this.#stopped = true;
    this.#underWay?.abort(STOPPED);
    this.#cancelTimer();
    return this.#running;
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#system.timers.after(Math.max(1, ms), () => {
      this.#running = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    // Also when the invocation is over, whatever becomes of the work: a job that was left behind must not be kept alive by the next invocations.
    if (this.#stopped || this.#lifetime.remainingMs() <= 0) return;
    this.#underWay = new AbortController();
    try {
      const result = await this.#renewOnce(this.#underWay.signal);
      if (result.kind === 'lost') this.#lifetime.lose('somebody else took it over');
      else {
        this.#lifetime.renewed(result.sentAt);
        this.#schedule(this.#leaseMs / 3);
      }
    } catch {
      this.#schedule(this.#leaseMs / 12);
    }
  }
}

export const renewalLimitMs = (leaseMs: number): number => Math.max(leaseMs / 6, Math.min(leaseMs / 2, 250));
