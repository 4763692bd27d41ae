/**
 * A lease in hand: renewed, told of its loss, released on every path.
 *
 * @module
 */
import { bounded, withinInvocation } from './bounded.ts';
import { isRerunSafeError, RerunSafeError } from './errors.ts';
import { type LeaseEvent, type LeaseEventName, sinceSlot, tellLease } from './events.ts';
import type { Lease, LeaseOptions } from './lease.ts';
import { Lifetime } from './lifetime.ts';
import type { Fence, LeaseProvider, System } from './ports.ts';
import type { Owner } from './record.ts';
import { Renewal, renewalLimitMs } from './renewal.ts';
import { Serial } from './serial.ts';
import { elapsedMs, type Instant, instant, pause } from './system.ts';
import { pauseBeforeMs } from './waits.ts';

const RELEASE_TRIES = 3;

export class LiveLease implements Lease {
  readonly name: string;
  readonly token: number;
  readonly fence: Fence;
  readonly #invocationMs: () => number;
  readonly #leases: LeaseProvider;
  readonly #holder: { readonly owner: Owner; readonly token: number; readonly leaseMs: number };
  readonly #acquiredAt: Instant;
  readonly #slot: number | undefined;
  readonly #minHoldMs: number;
  readonly #system: System;
  readonly #lifetime: Lifetime;
  readonly #renewal: Renewal | undefined;
  readonly #serial = new Serial();
  #released: Promise<'released' | 'lost' | 'unknown'> | undefined;

  constructor(
    leases: LeaseProvider,
    name: string,
    holder: { owner: Owner; token: number; leaseMs: number },
    sentAt: Instant,
    slot: number | undefined,
    options: LeaseOptions,
    system: System,
  ) {
    this.#leases = leases;
    this.name = name;
    this.token = holder.token;
    this.fence = { id: name, owner: holder.owner, token: holder.token };
    this.#holder = holder;
    this.#acquiredAt = sentAt;
    this.#slot = slot;
    this.#minHoldMs = options.minHoldMs ?? 0;
    this.#system = system;
    const { remainingMs, signal } = options;
    this.#invocationMs = remainingMs ?? (() => Number.POSITIVE_INFINITY);
    this.#lifetime = new Lifetime({
      system,
      what: `"${name}"`,
      leaseMs: holder.leaseMs,
      sentAt,
      signal,
      onLost: (error) => this.#tell('lost', error),
      ...(remainingMs === undefined ? {} : { remainingMs }),
    });
    if (options.renew !== 'none') this.#renewal = new Renewal(system, this.#lifetime, holder.leaseMs, (stop) => this.#renewOnce(stop));
  }

  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  // Arrows, so that a lease may be taken apart: `async ({ assertHeld, fence }) => …`.
  readonly remainingMs = (): number => (this.#released === undefined ? this.#lifetime.remainingMs() : 0);

  readonly assertHeld = (minMs = 0): void => {
    if (this.#released !== undefined) throw this.#releasedError();
    this.#lifetime.assertHeld(minMs);
  };

  readonly renew = async (): Promise<void> => {
    this.assertHeld();
    const result = await this.#renewOnce();
    if (result.kind === 'lost') {
      this.#lifetime.lose('somebody else took it over');
      throw this.#lifetime.lossError();
    }
    this.#lifetime.renewed(result.sentAt);
  };

  readonly release = ({ slotDone = false }: { slotDone?: boolean } = {}): Promise<'released' | 'lost' | 'unknown'> => {
    this.#released ??= this.#release(slotDone);
    return this.#released;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #renewOnce(stop?: AbortSignal): ReturnType<ConstructorParameters<typeof Renewal>[3]> {
    return this.#serial.run(async () => {
      // A renewal after one's own deadline is lost, even where the service would allow it: somebody may have held it meanwhile.
      if (this.#released !== undefined) throw this.#releasedError();
      if (this.#lifetime.lost) return { kind: 'lost' };
      const sentAt = instant(this.#system.clock);
      const limitMs = renewalLimitMs(this.#holder.leaseMs);
      const result = await bounded(this.#system, limitMs, (options) => this.#leases.renew(this.name, this.#holder, options), stop);
      // Answered after its own deadline: somebody may have held it meanwhile, and this holder has been told so.
      if (result === 'lost' || this.#lifetime.lost) return { kind: 'lost' };
      this.#tell('renewed');
      return { kind: 'renewed', sentAt };
    });
  }

  async #release(slotDone: boolean): Promise<'released' | 'lost' | 'unknown'> {
    await this.#renewal?.stop();
    const wasLost = this.#lifetime.lost;
    const result = await this.#serial.run(() => this.#sendRelease(slotDone));
    this.#lifetime.end();
    const outcome = wasLost && result === 'released' ? 'lost' : result;
    const age = slotDone && result === 'released' ? sinceSlot(this.#slot, this.#system.clock.wallMs()) : {};
    this.#tell('released', undefined, { ...age, ...(outcome === 'released' ? {} : { reason: outcome }) });
    return outcome;
  }

  async #sendRelease(slotDone: boolean): Promise<'released' | 'lost' | 'unknown'> {
    const { owner, token } = this.#holder;
    const holdMs = Math.max(0, this.#minHoldMs - elapsedMs(this.#acquiredAt, this.#system.clock));
    const holder = { owner, token, ...(holdMs > 0 ? { holdMs } : {}), ...(slotDone && this.#slot !== undefined ? { slotDone: this.#slot } : {}) };
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      try {
        return await bounded(this.#system, withinInvocation(5_000, this.#invocationMs()), (options) =>
          this.#leases.release(this.name, holder, options),
        );
      } catch (error) {
        if (!isRerunSafeError(error) || !error.retryable || this.#invocationMs() <= 0) break;
        if (tries + 1 < RELEASE_TRIES) await pause(this.#system, pauseBeforeMs(tries, this.#system));
      }
    }
    return 'unknown';
  }

  #releasedError(): RerunSafeError {
    return new RerunSafeError('LEASE_LOST', `The lease on "${this.name}" was released.`);
  }

  #tell(event: LeaseEventName, error?: unknown, more: Pick<LeaseEvent, 'lastSuccessAgeMs' | 'reason'> = {}): void {
    tellLease({ ...more, event, name: this.name, provider: this.#leases.name, token: this.token, ...(error === undefined ? {} : { error }) });
  }
}
