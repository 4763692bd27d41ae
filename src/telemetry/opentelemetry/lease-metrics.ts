/**
 * What is measured of named leases.
 *
 * @module
 */
import type { LeaseEvent } from '../../core/events.ts';
import { errorType } from './error-facts.ts';
import { ATTRIBUTES, OTHER } from './metrics.ts';
import { type Sink, secondsSince } from './sink.ts';

type Where = { readonly [name: string]: string };

export class LeaseMetrics {
  readonly #sink: Sink;
  #names: ReadonlySet<string> = new Set();
  /** Since when each is held, and as what it is measured, by provider, name and token. */
  readonly #held = new Map<string, { readonly sinceMs: number; readonly where: Where }>();

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Told apart from now on. */
  set names(names: readonly string[]) {
    this.#names = new Set(names);
  }

  /** Nothing more will be heard of those that are held. */
  stop(): void {
    for (const { where } of this.#held.values()) this.#sink.record('rerunsafe.lease.active', -1, where);
    this.#held.clear();
  }

  hear(event: LeaseEvent): void {
    const { name, provider, reason, lastSuccessAgeMs, error } = event;
    const isListed = this.#names.has(name);
    const where = { [ATTRIBUTES.provider]: provider, [ATTRIBUTES.leaseName]: isListed ? name : OTHER };
    const why = reason === undefined ? {} : { [ATTRIBUTES.reason]: reason };
    this.#sink.record('rerunsafe.lease.events', 1, { ...where, [ATTRIBUTES.event]: event.event, ...why, ...errorType(error) });
    // Of jobs that share a name the one that succeeded would hide the others.
    if (isListed && lastSuccessAgeMs !== undefined)
      this.#sink.record('rerunsafe.lease.last_success.timestamp', (Date.now() - lastSuccessAgeMs) / 1_000, where);
    this.#holds(event, where);
  }

  #holds({ event, name, provider, token }: LeaseEvent, where: Where): void {
    const which = JSON.stringify([provider, name, token]);
    const held = this.#held.get(which);
    if (event === 'acquired' && held === undefined) {
      this.#held.set(which, { sinceMs: performance.now(), where });
      this.#sink.record('rerunsafe.lease.active', 1, where);
    }
    // A lease that is lost is released after that, too; and one may be older than whoever listens.
    if ((event === 'lost' || event === 'released') && held !== undefined) {
      this.#held.delete(which);
      this.#sink.record('rerunsafe.lease.active', -1, held.where);
      this.#sink.record('rerunsafe.lease.held.duration', secondsSince(held.sinceMs), held.where);
    }
  }
}
