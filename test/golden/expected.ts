/**
 * What today's code makes of each golden row: what it reads, and what the next caller gets. Rows are old by then, so their leases are over.
 *
 * @module
 */
import type { BlockedWhy, NotKept, Outcome, State } from '../../src/core/record.ts';
import { HALF_RANDOM, hugeValue, JSON_VALUE, LARGE_VALUE, richValue } from './scenarios.ts';

export type Gets =
  | { readonly replays: () => unknown; readonly resolved?: true }
  | { readonly fails: () => unknown; readonly code?: number }
  | { readonly told: 'RESULT_NOT_STORED'; readonly reason: NotKept }
  | { readonly blocked: BlockedWhy }
  /** `steps`: as the work then finds them. */
  | { readonly runsAs: number; readonly steps?: 'all' | 'charge' };

export interface Expected {
  readonly state: State;
  readonly outcome?: Outcome['kind'];
  readonly gets: Gets;
}

const completed = (outcome: Outcome['kind'], value: () => unknown): Expected => ({ state: 'completed', outcome, gets: { replays: value } });
const failed = (outcome: Outcome['kind'], data: () => unknown): Expected => ({ state: 'completed', outcome, gets: { fails: data } });
const runs = (state: State, runsAs: number, steps?: 'all' | 'charge'): Expected => ({
  state,
  gets: { runsAs, ...(steps === undefined ? {} : { steps }) },
});
const lost = (reason: NotKept): Expected => ({ state: 'completed', outcome: 'not-stored', gets: { told: 'RESULT_NOT_STORED', reason } });
const resolved = (outcome: Outcome['kind'], value: () => unknown): Expected => ({
  state: 'completed',
  outcome,
  gets: { replays: value, resolved: true },
});
const json = (): unknown => JSON_VALUE;
const large = (): unknown => LARGE_VALUE;

export const EXPECTED: Readonly<Record<string, Expected>> = {
  running: runs('running', 2),
  'running-with-steps': runs('running', 2, 'all'),
  'running-with-sealed-steps': runs('running', 2, 'all'),
  'running-again': runs('running', 3, 'charge'),
  'running-unknown': runs('running', 2),
  completed: completed('value', json),
  'completed-scoped': completed('value', json),
  'completed-without-label': completed('value', () => 1),
  'completed-with-label': completed('value', () => 1),
  'completed-undefined': completed('value', () => undefined),
  'completed-rich': completed('value', richValue),
  'completed-packed': completed('packed', large),
  'completed-sealed': completed('sealed', richValue),
  'completed-sealed-packed': completed('sealed', large),
  'completed-parts': completed('parts', hugeValue),
  'completed-sealed-parts': completed('parts', hugeValue),
  'completed-packed-parts': completed('parts', HALF_RANDOM),
  failed: failed('error', richValue),
  'failed-packed': failed('packed', large),
  'failed-sealed': failed('sealed', richValue),
  'failed-bare': { state: 'completed', outcome: 'error', gets: { fails: () => undefined, code: 402 } },
  'failed-parts': failed('parts', hugeValue),
  'not-stored': lost('not-serializable'),
  'not-stored-too-large': lost('too-large'),
  'not-stored-not-taken': lost('not-taken'),
  released: runs('released', 2, 'charge'),
  'released-with-note': runs('released', 2),
  withdrawn: runs('released', 1),
  'blocked-unknown': { state: 'blocked', gets: { blocked: 'unknown' } },
  'blocked-attempts': { state: 'blocked', gets: { blocked: 'attempts' } },
  'blocked-failed': { state: 'blocked', gets: { blocked: 'failed' } },
  'blocked-step-not-stored': { state: 'blocked', gets: { blocked: 'step-not-stored' } },
  'blocked-with-word': { state: 'blocked', gets: { blocked: 'unknown' } },
  'resolved-done': resolved('value', json),
  'resolved-sealed': resolved('sealed', richValue),
  'resolved-packed': resolved('packed', large),
  'resolved-parts': resolved('parts', hugeValue),
  'resolved-not-done': runs('released', 1),
  forgotten: runs('released', 1),
  expired: { state: 'completed', outcome: 'value', gets: { runsAs: 1 } },
};

/** Removed by a clean-up; with the lapsed ones, the second list too. */
export const PURGED = ['expired', 'forgotten'];
export const PURGED_WHERE_LAPSED = ['running', 'running-again', 'running-unknown', 'running-with-sealed-steps', 'running-with-steps'];
