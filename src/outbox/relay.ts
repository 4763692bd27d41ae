/**
 * Sends on what waits in an outbox: one relay at a time, at least once, in order for each key.
 *
 * @module
 */
import { isRerunSafeError } from '../core/errors.ts';
import { type Lease, type LeaseOptions, withLease } from '../core/lease.ts';
import type { CallOptions, System } from '../core/ports.ts';
import { realSystem } from '../core/system.ts';
import { tryDelivery } from './delivery.ts';
import { afterFailure } from './judge.ts';
import { inLanes, lanesOf } from './lanes.ts';
import { Marks, persistently } from './marks.ts';
import { checkRelay, type Relaying, type RelayOptions } from './options.ts';
import type { Ending, Taken, WaitingMessage } from './port.ts';

export interface RelayCounts {
  readonly delivered: number;
  /** Tries that have failed, and come again. */
  readonly retried: number;
  readonly parked: number;
}

export type RelayResult =
  | ({
      readonly kind: 'done';
      /** `empty`: nothing is left that may be delivered now. */
      readonly ended: 'empty' | 'time-up' | 'cancelled';
      /** How many wait for their next try, or behind one that does. Known where it ended with `empty` and they could be counted. */
      readonly left?: number;
    } & RelayCounts)
  /** Somebody else is at it. */
  | { readonly kind: 'held'; readonly retryAfterMs?: number };

/** What is left of an invocation when nothing new begins. */
const STOP_MARGIN_MS = 1_000;
/** Of that, to write down what was delivered. */
const MARK_MARGIN_MS = 500;

/**
 * Delivers what waits, until nothing is left that may be delivered now, or time is up. Drive it by a timer, a schedule or {@link relayLoop}.
 *
 * Each message is delivered at least once, and may come again after a crash, a lost lease or a lost answer, always with the same `id`: the receiver makes
 * it once (`runInTransaction({ operation, key: message.id, … })`, or `runOnce`). Of one key a message is delivered only after the one before it was.
 * What `deliver` throws is kept as text with the message, which comes again later; later ones of its key wait for it, other keys go on.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`; `LEASE_LOST` or `STALE_TOKEN`: another relay has taken over; what the lease's
 * place and the outbox throw. What was delivered and could not be written down comes again.
 *
 * @example
 * app.timer('outbox', { schedule: '0 * * * * *', handler: async () => void (await relayOutbox({ outbox, leases, deliver: (m) => bus.send(m) })) });
 */
export async function relayOutbox(options: RelayOptions, system: System = realSystem): Promise<RelayResult> {
  const relaying = checkRelay(options);
  const { leases, lease, name = `rerunsafe/outbox/${relaying.outbox.name}`, leaseMs, remainingMs, signal } = options;
  if (lease !== undefined) return new Relay(relaying, lease, false, system).run();
  if (leases === undefined || signal?.aborted) return { kind: 'done', ended: 'cancelled', delivered: 0, retried: 0, parked: 0 };
  const given = Object.entries({ leaseMs, remainingMs, signal }).filter(([, value]) => value !== undefined);
  const result = await withLease(
    leases,
    name,
    Object.fromEntries(given) as LeaseOptions,
    (held) => new Relay(relaying, held, true, system).run(),
    system,
  );
  if (result.kind === 'done') return result.value;
  return { kind: 'held', ...(result.kind === 'held' && result.retryAfterMs !== undefined ? { retryAfterMs: result.retryAfterMs } : {}) };
}

class Relay {
  readonly #relaying: Relaying;
  readonly #lease: Lease;
  readonly #system: System;
  readonly #signal: AbortSignal;
  readonly #marks: Marks;
  readonly #counts = { delivered: 0, retried: 0, parked: 0 };

  constructor(relaying: Relaying, lease: Lease, ownsLease: boolean, system: System) {
    const { outbox, batchSize, signal } = relaying;
    this.#relaying = relaying;
    this.#lease = lease;
    this.#system = system;
    // A lease that the caller holds knows nothing of the relay's own signal.
    this.#signal = signal === undefined || ownsLease ? lease.signal : AbortSignal.any([lease.signal, signal]);
    this.#marks = new Marks(batchSize, (settlements) => this.#call((call) => outbox.settle(lease.fence, settlements, call)));
  }

  async run(): Promise<RelayResult> {
    const { outbox } = this.#relaying;
    await this.#call((call) => outbox.enter(this.#lease.fence, call));
    try {
      await this.#passes();
    } finally {
      await this.#marks.ended();
    }
    await this.#marks.written();
    const stopped = this.#stopped();
    if (stopped !== undefined) return { kind: 'done', ended: stopped, ...this.#counts };
    // All is done by now: a count that fails must not make a failure of it.
    const left = await this.#call((call) => outbox.waiting(call)).catch(() => undefined);
    return { kind: 'done', ended: 'empty', ...this.#counts, ...(left === undefined ? {} : { left }) };
  }

  /** Until one of them, from beginning to end, has found nothing. */
  async #passes(): Promise<void> {
    const { outbox, batchSize: limit, onParked, concurrency } = this.#relaying;
    let after: unknown;
    for (let found = 0; this.#stopped() === undefined; ) {
      const request = { limit, holdParked: onParked === 'hold', ...(after === undefined ? {} : { after }) };
      const { messages, next }: Taken = await this.#call((call) => outbox.take(request, call));
      await inLanes(lanesOf(messages), concurrency, (lane) => this.#walk(lane));
      // What is not written down yet would be found again.
      await this.#marks.written();
      found += messages.length;
      after = next;
      if (after !== undefined) continue;
      if (found === 0) return;
      found = 0;
    }
  }

  async #walk(lane: readonly WaitingMessage[]): Promise<void> {
    for (const message of lane) {
      if (this.#marks.failed || this.#over()) return;
      const ending = await this.#deliver(message);
      if (ending === undefined) return;
      this.#marks.add({ message, ending });
      this.#counts[ending.kind === 'retry' ? 'retried' : ending.kind] += 1;
      if (ending.kind === 'retry' || (ending.kind === 'parked' && this.#relaying.onParked === 'hold')) return;
    }
  }

  async #deliver(waiting: WaitingMessage): Promise<Ending | undefined> {
    const { deliver, deliverTimeoutMs, remainingMs } = this.#relaying;
    const { id, topic, key, payload, createdAtMs } = waiting;
    const attempt = waiting.attempts + 1;
    const leftMs = remainingMs() - MARK_MARGIN_MS;
    const limitMs = Math.max(1, Math.min(deliverTimeoutMs, leftMs));
    const delivery = await tryDelivery(this.#system, deliver, { id, topic, key, payload, attempt, createdAtMs }, limitMs, this.#signal);
    if (delivery.kind === 'delivered') return delivery;
    // Its end, or that of the invocation, has cut it short: that says nothing about the message.
    if (delivery.kind === 'dropped' || this.#lease.remainingMs() <= 0 || remainingMs() <= MARK_MARGIN_MS) return undefined;
    return afterFailure(delivery.error, attempt, this.#relaying, this.#system.random());
  }

  #over(): boolean {
    try {
      return this.#stopped() !== undefined;
    } catch {
      return true;
    }
  }

  /** @throws RerunSafeError `LEASE_LOST` */
  #stopped(): 'time-up' | 'cancelled' | undefined {
    if (this.#relaying.signal?.aborted) return 'cancelled';
    if (this.#relaying.remainingMs() < STOP_MARGIN_MS) return 'time-up';
    // Reads the clocks: after a pause the signal has not fired yet.
    this.#lease.assertHeld();
    if (this.#lease.signal.aborted) {
      if (isRerunSafeError(this.#lease.signal.reason, 'LEASE_LOST')) throw this.#lease.signal.reason;
      return 'cancelled';
    }
    return undefined;
  }

  #call<R>(call: (options: CallOptions) => Promise<R>): Promise<R> {
    return persistently(this.#system, () => Math.min(this.#lease.remainingMs(), this.#relaying.remainingMs()), call);
  }
}
