/**
 * What is measured of named leases.
 *
 * @module
 */
import type { LeaseEvent } from '../../core/events.ts';
import { errorType } from './error-facts.ts';
import { ATTRIBUTES, OTHER } from './metrics.ts';
import { type Sink, secondsSince } from './sink.ts';

export class LeaseMetrics {
  readonly #sink: Sink;
  readonly #names: ReadonlySet<string>;
  /** Since when each is held, by provider, name and token. */
  readonly #held = new Map<string, number>();

  constructor(sink: Sink, names: readonly string[]) {
    this.#sink = sink;
    this.#names = new Set(names);
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

  #holds({ event, name, provider, token }: LeaseEvent, where: { readonly [name: string]: string }): void {
    const which = JSON.stringify([provider, name, token]);
    const sinceMs = this.#held.get(which);
    if (event === 'acquired' && sinceMs === undefined) {
      this.#held.set(which, performance.now());
      this.#sink.record('rerunsafe.lease.active', 1, where);
    }
    // A lease that is lost is released after that, too; and one may be older than whoever listens.
    if ((event === 'lost' || event === 'released') && sinceMs !== undefined) {
      this.#held.delete(which);
      this.#sink.record('rerunsafe.lease.active', -1, where);
      this.#sink.record('rerunsafe.lease.held.duration', secondsSince(sinceMs), where);
    }
  }
}
