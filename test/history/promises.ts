/**
 * Everything that a history shows to be broken of I1 to I12, each with the events that show it. Nothing, where every promise was held.
 *
 * @module
 */
import { callsOf } from './calls.ts';
import { type Event, of } from './format.ts';
import { type HolderRules, judgeHolders } from './holders.ts';
import { judgeRow, type RowRules } from './rows.ts';
import { judgeRun, type RunRules } from './runs.ts';
import { judgeSentKeys, judgeSteps, type StepRules } from './steps.ts';
import { Strikes } from './strikes.ts';
import type { Violation } from './violation.ts';

export type Rules = RowRules & RunRules & StepRules & HolderRules;

/** `events`: of any number of callers, in the order in which they were noted. Linear in time, but for the calls of one key. */
export function judgePromises(events: readonly Event[], rules: Rules = {}): Violation[] {
  const byKey = new Map<string, Event[]>();
  const strikes = new Strikes(events);
  for (const event of events) {
    const own = byKey.get(event.key) ?? [];
    own.push(event);
    byKey.set(event.key, own);
  }
  const violations: Violation[] = [];
  for (const [key, own] of byKey) {
    const calls = callsOf(own);
    violations.push(
      ...judgeRow(key, of(own, 'accepted'), rules),
      ...judgeRun(key, own, calls, strikes, rules),
      ...judgeSteps(key, own, calls, rules),
      ...judgeHolders(key, own, calls, strikes, rules),
    );
  }
  return [...violations, ...judgeSentKeys(events)];
}
