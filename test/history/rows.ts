/**
 * The promises, as far as what a store accepted for one row can show them.
 *
 * @module
 */
import { FOREVER_MS } from '../../src/core/record.ts';
import type { Accepted, Kept } from './format.ts';
import type { Violation } from './violation.ts';

export interface RowRules {
  /** The row of a named lease, not of a run. */
  readonly lease?: boolean;
  /** Clocks are further apart than they may be: nothing is said of when. */
  readonly timeless?: boolean;
}

export function judgeRow(key: string, history: readonly Accepted[], { lease = false, timeless = false }: RowRules = {}): Violation[] {
  const violations: Violation[] = [];
  /** Owners that were succeeded, with the last token of each. */
  const retired = new Map<string, number>();
  let highest = 0;
  let outcomes = 0;
  let before: Accepted | undefined;
  for (const now of history) {
    const wrong = (promise: Violation['promise'], says: string): void =>
      void violations.push({ promise, key, says, shows: before === undefined ? [now] : [before, now] });
    const [a, b] = [before?.record, now.record];
    if (b === undefined || now.setBack === true) {
      // What a person removed takes its token with it, and a late copy of a claim may find it gone. What was lost was never there.
      outcomes = b?.state === 'completed' ? 1 : 0;
      highest = b?.token ?? 0;
      retired.clear();
      before = now;
      continue;
    }
    const heldMs = now.atMs - (before?.fromMs ?? 0);
    if (b.token < highest) wrong('I5', `the token fell from ${highest} to ${b.token}`);
    // A request for a lease that is sent again keeps its owner; it may find that its earlier self was succeeded, and then takes a new token.
    if (lease ? b.token <= (retired.get(b.owner) ?? 0) : retired.has(b.owner)) wrong('I4', 'an owner that was succeeded came back');
    if (a !== undefined && a.owner !== b.owner) {
      retired.set(a.owner, a.token);
      if (b.token <= a.token) wrong('I5', 'the token did not grow with the owner');
      if (!timeless && now.person?.forced !== true && isEarly(a, b, heldMs, lease))
        wrong('I6', `taken at most ${Math.round(heldMs)} ms into a lease of ${a.leaseMs}`);
    }
    const expired = a !== undefined && isOver(a, heldMs);
    if (a !== undefined && !lease) {
      if (a.owner === b.owner && a.state !== 'running') wrong('I4', 'an owner wrote after its own end');
      if (a.owner !== b.owner && b.state === 'running' && !expired && b.attempt !== a.attempt + 1) wrong('I6', 'the attempts do not count up');
    }
    if (a?.state === 'blocked' && now.person === undefined) wrong('I8', 'a blocked record was written over');
    if (a?.state === 'completed') {
      if (expired || now.person?.corrects === true || now.person?.did === 'forget') outcomes = 0;
      else wrong('I3', 'an outcome was written over');
    }
    if (b.state === 'completed') {
      outcomes += 1;
      if (outcomes > 1) wrong('I1', 'a second outcome was accepted');
    }
    highest = Math.max(highest, b.token);
    before = now;
  }
  return violations;
}

const isOver = (record: Kept, heldMs: number): boolean =>
  (record.state === 'completed' || record.state === 'released') && record.retentionMs < FOREVER_MS && heldMs >= record.retentionMs;

function isEarly(a: Kept, b: Kept, heldMs: number, lease: boolean): boolean {
  if (heldMs >= a.leaseMs) return false;
  // Its minimum hold.
  if (lease && a.state === 'released') return b.state === 'running';
  if (a.state !== 'running') return false;
  // Whoever gives a run up to a person changes the owner of its own record; whoever breaks a lease does not wait.
  const own = b.state === 'blocked' && a.holder === b.holder;
  return !own && !(lease && b.state === 'released');
}
