import { type Describe, type It, register } from '../suite.ts';
import { expiry } from './expiry.ts';
import { holding } from './holding.ts';
import { type LeaseRaceSizes, races } from './races.ts';
import { slots } from './slots.ts';
import type { LeaseCaseSubject, LeaseSubject } from './subject.ts';

export interface LeaseProviderConformanceOptions {
  /** Heads the tests: the provider, and what it runs on. */
  readonly name: string;
  readonly describe: Describe;
  readonly it: It;
  /**
   * Called for each case. Several cases may share one container: names are fresh in each. `advance` moves the provider's clock by so many ms;
   * without it, cases in which a lease runs out wait for real.
   */
  readonly createLeases: () => Promise<LeaseSubject>;
  /** The lease of cases in which it runs out: as short as the provider allows and its clock's uncertainty makes sensible. */
  readonly leaseMs: number;
  /** How hard to race. */
  readonly concurrency?: LeaseRaceSizes;
}

/** Outlasts any pause of a slow machine. */
const LONG_MS = 60_000;

/**
 * Decides whether a `LeaseProvider` keeps its contract. Works with the `describe` and `it` of any runner.
 *
 * @example
 * import { describe, it } from 'vitest';
 * leaseProviderConformance({ name: 'my leases', describe, it, leaseMs: 1000, createLeases: async () => ({ leases: myLeases() }) });
 */
export function leaseProviderConformance(options: LeaseProviderConformanceOptions): void {
  const { name, createLeases, leaseMs, concurrency = {} } = options;
  const groups = { holding, 'slots and minimum hold': slots, 'running out': expiry, races: races(concurrency) };
  register<LeaseCaseSubject>(options, `leases: ${name}`, groups, async () => {
    const subject = await createLeases();
    return { ...subject, leaseMs, longMs: Math.min(LONG_MS, subject.leases.limits.maxLeaseMs) };
  });
}
