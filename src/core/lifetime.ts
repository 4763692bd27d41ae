/**
 * How long a holder may believe that it holds: two clocks, an independent timer, and a loss that is final.
 *
 * Serves attempts on records and holders of named leases alike.
 *
 * @module
 */
import { RerunSafeError } from './errors.ts';
import type { System } from './ports.ts';
import { type Instant, ownRemainingMs } from './system.ts';

export interface LifetimeOptions {
  readonly system: System;
  readonly what: string;
  readonly leaseMs: number;
  /** From before the request that took it was first sent. */
  readonly sentAt: Instant;
  /** Bounded by the whole invocation. */
  readonly remainingMs?: () => number;
  /** The caller's own cancellation, passed on through {@link Lifetime.signal}. */
  readonly signal?: AbortSignal | undefined;
  readonly onLost?: (error: RerunSafeError) => void;
}

export class Lifetime {
  readonly #options: LifetimeOptions;
  readonly #controller = new AbortController();
  readonly #onCancel = (): void => this.#controller.abort(this.#options.signal?.reason);
  #sentAt: Instant;
  #loss: RerunSafeError | undefined;
  #cancelTimer = (): void => {};
  #ended = false;

  constructor(options: LifetimeOptions) {
    this.#options = options;
    this.#sentAt = options.sentAt;
    if (options.signal?.aborted) this.#onCancel();
    else options.signal?.addEventListener('abort', this.#onCancel, { once: true });
    this.#watch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Final: a late renewal that succeeds does not bring it back. */
  get lost(): boolean {
    if (this.#loss === undefined && !this.#ended && this.#leaseLeftMs() <= 0) this.lose('its lease ran out');
    return this.#loss !== undefined;
  }

  /** Of the lease alone, ms; 0 when lost. */
  leaseLeftMs(): number {
    return this.lost ? 0 : Math.max(0, this.#leaseLeftMs());
  }

  remainingMs(): number {
    if (this.#ended) return 0;
    return Math.max(0, Math.min(this.leaseLeftMs(), this.#options.remainingMs?.() ?? Number.POSITIVE_INFINITY));
  }

  assertHeld(minMs = 0): void {
    // Work that nobody awaited may go on in a later invocation: what it was to hold may have been somebody else's since.
    if (this.#ended) throw this.#loss ?? this.#lossError('what it was held for has ended');
    if (this.lost || this.remainingMs() < minMs) throw this.#loss ?? this.#lossError(`less than ${minMs} ms of it are left`);
  }

  /** A renewal was confirmed that was sent at `sentAt`. */
  renewed(sentAt: Instant): void {
    if (this.lost || this.#ended) return;
    this.#sentAt = sentAt;
    this.#watch();
  }

  lose(why: string, cause?: unknown): void {
    if (this.#loss !== undefined || this.#ended) return;
    this.#loss = this.#lossError(why, cause);
    this.#stopWatching();
    this.#options.onLost?.(this.#loss);
    this.#controller.abort(this.#loss);
  }

  lossError(): RerunSafeError {
    return this.#loss ?? this.#lossError('somebody else took it over');
  }

  /** The work has settled: no timer and no listener stays behind; what was lost stays lost. */
  end(): void {
    void this.lost;
    this.#ended = true;
    this.#stopWatching();
  }

  #leaseLeftMs(): number {
    return ownRemainingMs(this.#sentAt, this.#options.leaseMs, this.#options.system.clock);
  }

  #watch(): void {
    this.#cancelTimer();
    // Independent of any renewal: one that hangs must not keep the lease alive.
    this.#cancelTimer = this.#options.system.timers.after(Math.max(1, Math.ceil(this.#leaseLeftMs())), () => {
      if (!this.lost && !this.#ended) this.#watch();
    });
  }

  #stopWatching(): void {
    this.#cancelTimer();
    this.#options.signal?.removeEventListener('abort', this.#onCancel);
  }

  #lossError(why: string, cause?: unknown): RerunSafeError {
    return new RerunSafeError('LEASE_LOST', `The lease on ${this.#options.what} is over: ${why}. Somebody else may be at work; stop.`, { cause });
  }
}
