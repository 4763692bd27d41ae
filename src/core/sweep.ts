/**
 * Runs that nobody will try again by himself: whose attempt ended with no outcome, or that wait for a person.
 *
 * @module
 */
import type { UnknownAnswer } from './guard.ts';
import { checkOptions, has, invalidOptions, isBoolean, isFunction, isInteger, isName, isSignal } from './options.ts';
import { PASSED_ALONG, type PersonOptions, resolveById, WORD_RULES } from './person.ts';
import type { Listed, RecordStore } from './ports.ts';
import { type BlockedWhy, isLapsed, type RecordId, type StoredStep } from './record.ts';
import { LEASE_OPERATION } from './store-leases.ts';

export interface SweepOptions extends Pick<PersonOptions, 'seal' | 'codec' | 'by' | 'why'> {
  readonly store: RecordStore;
  /** Default: all of them. */
  readonly operation?: string;
  /** Only what has been without an outcome for so long, ms: gives those who retry by themselves their time. Default 60,000. */
  readonly olderThanMs?: number;
  /** Whether runs that are blocked are shown too, each time. Default true. */
  readonly blocked?: boolean;
  /** The most to show in one sweep. Default 1000. */
  readonly limit?: number;
  /** Time left to the invocation, ms: nothing new is shown in the last second. */
  readonly remainingMs?: () => number;
  readonly signal?: AbortSignal;
}

export interface Found {
  /** `lapsed`: its lease is over and there is no outcome. `blocked`: a person has to say what became of it. */
  readonly kind: 'lapsed' | 'blocked';
  readonly why?: BlockedWhy;
  readonly id: RecordId;
  readonly operation: string;
  /** The key as people know it, where it is kept. */
  readonly label?: string;
  readonly attempt: number;
  /** Since the last sign of life, ms. */
  readonly ageMs: number;
  readonly createdAtMs: number;
  /** `begun`: at most once, and nobody knows what it did. `not-stored`: done, and its value could not be kept. */
  readonly steps: readonly FoundStep[];
  /** How the last attempt ended, as `onThrow` noted it. */
  readonly note?: string;
  /** Host and invocation of the last attempt. */
  readonly holder?: string;
}

export interface FoundStep {
  readonly name: string;
  readonly state: 'begun' | 'done' | 'not-stored';
}

export interface SweepResult {
  readonly lapsed: number;
  readonly blocked: number;
  /** Those that an answer was written for. */
  readonly settled: number;
  /** What the callback, or the writing of its answer, has thrown; the others were shown all the same. */
  readonly failures: readonly { readonly id: RecordId; readonly error: unknown }[];
  /** There was more than the limit, the time or the signal allowed. */
  readonly more: boolean;
}

/**
 * What became of it, as for `onUnknown`: `{ done: value }` is the outcome from now on, `'not-done'` lets it run again, `'block'` keeps it for a person;
 * undefined changes nothing: the callback has sent the message again, told somebody, or will look again next time.
 */
export type SweepAnswer = UnknownAnswer<unknown> | undefined;

const DEFAULTS = { olderThanMs: 60_000, blocked: true, limit: 1_000 };
const RULES = {
  ...PASSED_ALONG,
  ...WORD_RULES,
  store: has('list', 'read', 'replace'),
  operation: isName(128),
  olderThanMs: isInteger(0),
  blocked: isBoolean,
  limit: isInteger(1),
  remainingMs: isFunction,
  signal: isSignal,
};
const LAST_MS = 1_000;

/**
 * Shows each run that lapsed or is blocked to `look`, one after the other, and carries out what it answers. For a timer function or a schedule, so that a
 * run which nobody tries again still ends. An answer is about what was shown, and is written over that only: never over one that is alive, nor over what
 * has become of it in the meantime, even where that has no outcome either (it is shown again by the next sweep).
 *
 * @throws RerunSafeError `INVALID_OPTIONS`; `STORE_UNAVAILABLE`, … when the records cannot be listed.
 * @example
 * await sweep({ store, operation: 'payments/charge' }, async ({ label }) => {
 *   const charge = await stripe.charges.search({ query: `metadata['order']:'${label}'` });
 *   return charge.data[0] === undefined ? 'not-done' : { done: charge.data[0] };
 * });
 */
export async function sweep(options: SweepOptions, look: (found: Found) => SweepAnswer | Promise<SweepAnswer>): Promise<SweepResult> {
  checkOptions('sweep', options, RULES, ['store']);
  if (typeof look !== 'function') throw invalidOptions('sweep', ['the second argument must be a function']);
  const { store, operation, olderThanMs, blocked, limit, remainingMs, signal } = { ...DEFAULTS, ...options };
  const counts = { lapsed: 0, blocked: 0, settled: 0 };
  const failures: { id: RecordId; error: unknown }[] = [];
  const end = (more: boolean): SweepResult => ({ ...counts, failures, more });
  for (const state of blocked ? (['running', 'blocked'] as const) : (['running'] as const)) {
    const query = { state, olderThanMs, ...(operation === undefined ? {} : { operation }) };
    for await (const listed of store.list(query)) {
      const found = foundIn(listed, store.clock.uncertaintyMs);
      if (found === undefined) continue;
      const isLate = remainingMs !== undefined && remainingMs() < LAST_MS;
      if (counts.lapsed + counts.blocked === limit || isLate || signal?.aborted === true) return end(true);
      counts[found.kind] += 1;
      try {
        if (await settle(options, listed, await look(found))) counts.settled += 1;
      } catch (error) {
        failures.push({ id: listed.id, error });
      }
    }
  }
  return end(false);
}

const stateOf = (step: StoredStep): FoundStep['state'] =>
  !('outcome' in step) ? 'begun' : step.outcome.kind === 'not-stored' ? 'not-stored' : 'done';

function foundIn({ id, record, ageMs }: Listed, uncertaintyMs: number): Found | undefined {
  const { operation, state, attempt, createdAtMs, label, holder, blockedWhy, note, steps = {} } = record;
  if (operation === LEASE_OPERATION) return undefined;
  if (state !== 'blocked' && !isLapsed(record, ageMs, uncertaintyMs)) return undefined;
  return {
    kind: state === 'blocked' ? 'blocked' : 'lapsed',
    ...(blockedWhy === undefined ? {} : { why: blockedWhy }),
    id,
    operation,
    ...(label === undefined ? {} : { label }),
    attempt,
    ageMs,
    createdAtMs,
    steps: Object.entries(steps).map(([name, step]) => ({ name, state: stateOf(step) })),
    ...(note === undefined ? {} : { note }),
    ...(holder === undefined ? {} : { holder }),
  };
}

/** False where there was nothing to write, or where what was looked at no longer stands. */
async function settle(options: SweepOptions, listed: Listed, answer: SweepAnswer): Promise<boolean> {
  if (answer === undefined || (answer === 'block' && listed.record.state === 'blocked')) return false;
  if (answer !== 'block' && answer !== 'not-done' && !(typeof answer === 'object' && answer !== null && 'done' in answer)) {
    throw invalidOptions('sweep', ["the callback must answer { done: value }, 'not-done', 'block' or undefined"]);
  }
  return (await resolveById(listed.store ?? options.store, listed.id, options, answer, listed)).kind === 'written';
}
