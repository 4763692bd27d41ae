/**
 * The whole life cycle of a record as one pure function. The runner only carries out what is said here.
 *
 * @module
 */
import { fingerprintsDiffer } from './fingerprint.ts';
import { mustBeKnown } from './known-forms.ts';
import type { Stored } from './ports.ts';
import { type BlockedWhy, isExpired, isLapsed, type Outcome, type Owner, type StoredStep } from './record.ts';

/** A new caller wants to run. */
export interface BeginIntent {
  readonly kind: 'begin';
  /** Every owner nonce this call has used: an own record is never "someone else's". */
  readonly owners: ReadonlySet<Owner>;
  readonly fingerprint: string | undefined;
  readonly onUnknown: 'retry' | 'block' | 'ask';
  readonly maxAttempts: number;
}

/** An owner's own move, decided anew from what stands there. */
export interface MoveIntent {
  readonly kind: 'renew' | 'step' | 'complete' | 'give-up';
  readonly owner: Owner;
  readonly fingerprint: string | undefined;
}

/** A person's word, where no call can decide. */
export interface PersonIntent {
  /** `resolve`: say what became of a run that is blocked or lapsed. `forget`: as if it had never been. `erase`: the same, also of what is expired. */
  readonly kind: 'resolve' | 'forget' | 'erase';
  /** Also over a run that is still going on (it is fenced, but its work may go on: the named exception to I6), and over a person's earlier word. */
  readonly force: boolean;
}

export interface ClockFacts {
  /** The store's time, epoch ms. */
  readonly nowMs: number;
  /** How far two callers' clocks may differ. */
  readonly uncertaintyMs: number;
}

export interface Claim {
  readonly kind: 'claim';
  /** What the claim is written over; undefined: only when absent. */
  readonly over: Stored | undefined;
  readonly attempt: number;
  readonly token: number;
  readonly steps: Readonly<Record<string, StoredStep>> | undefined;
  /** The attempt before this one ended with no outcome. */
  readonly afterUnknown: boolean;
  /** Ask the caller's `onUnknown` under the new lease before the work starts. */
  readonly ask: boolean;
}

export type BeginDecision =
  | Claim
  | { readonly kind: 'ours'; readonly standing: Stored }
  | { readonly kind: 'replay'; readonly outcome: Outcome; readonly attempt: number }
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  | { readonly kind: 'blocked'; readonly why: BlockedWhy; readonly attempt: number }
  /** Write `blocked` over it first (new owner, this token), then refuse. */
  | { readonly kind: 'block'; readonly over: Stored; readonly token: number; readonly why: BlockedWhy };

export type MoveDecision =
  /** Put the own change on this record, and write it over this version. */
  | { readonly kind: 'write'; readonly over: Stored }
  /** The row is gone: completion makes it. */
  | { readonly kind: 'create' }
  /** Another owner completed it: that is the outcome (I2). */
  | { readonly kind: 'adopt'; readonly outcome: Outcome; readonly attempt: number }
  /** Our own final write had succeeded. */
  | { readonly kind: 'done' }
  | { readonly kind: 'lost' };

export type PersonDecision =
  | { readonly kind: 'write'; readonly over: Stored; readonly token: number }
  | { readonly kind: 'absent' }
  | { readonly kind: 'running'; readonly retryAfterMs: number }
  /** Nothing to resolve: it has an outcome, or may run again anyway. */
  | { readonly kind: 'not-needed' };

export function decide(standing: Stored | undefined, intent: BeginIntent, facts: ClockFacts): BeginDecision;
export function decide(standing: Stored | undefined, intent: MoveIntent, facts: ClockFacts): MoveDecision;
export function decide(standing: Stored | undefined, intent: PersonIntent, facts: ClockFacts): PersonDecision;
export function decide(
  standing: Stored | undefined,
  intent: BeginIntent | MoveIntent | PersonIntent,
  facts: ClockFacts,
): BeginDecision | MoveDecision | PersonDecision {
  if (intent.kind === 'begin') return begin(standing, intent, facts);
  return 'force' in intent ? person(standing, intent, facts) : move(standing, intent);
}

function begin(standing: Stored | undefined, intent: BeginIntent, { nowMs, uncertaintyMs }: ClockFacts): BeginDecision {
  const fresh: Claim = { kind: 'claim', over: standing, attempt: 1, token: nowMs, steps: undefined, afterUnknown: false, ask: false };
  if (standing === undefined) return fresh;
  const { record, ageMs } = standing;
  const token = Math.max(record.token + 1, nowMs);
  // Asked before anything else: an answer that was lost must not turn our own record into a stranger's (I7).
  // A lease of 0 ms was given up: it is nobody's any more.
  if (record.state === 'running' && record.leaseMs > 0 && intent.owners.has(record.owner)) return { kind: 'ours', standing };
  if (isExpired(record, ageMs, uncertaintyMs)) return { ...fresh, token };
  mustBeKnown(record);
  if (fingerprintsDiffer(record.fingerprint, intent.fingerprint)) return { kind: 'key-reused' };
  if (record.state === 'completed') return { kind: 'replay', outcome: record.outcome ?? NO_OUTCOME, attempt: record.attempt };
  if (record.state === 'blocked') return { kind: 'blocked', why: record.blockedWhy ?? 'unknown', attempt: record.attempt };
  const lapsed = isLapsed(record, ageMs, uncertaintyMs);
  if (record.state === 'running' && !lapsed) return { kind: 'in-flight', retryAfterMs: retryAfter(standing, uncertaintyMs) };
  if (lapsed && intent.onUnknown === 'block') return { kind: 'block', over: standing, token, why: 'unknown' };
  if (record.attempt >= intent.maxAttempts) return { kind: 'block', over: standing, token, why: 'attempts' };
  return {
    kind: 'claim',
    over: standing,
    attempt: record.attempt + 1,
    token,
    steps: record.steps,
    afterUnknown: lapsed,
    ask: lapsed && intent.onUnknown === 'ask',
  };
}

function move(standing: Stored | undefined, intent: MoveIntent): MoveDecision {
  const completing = intent.kind === 'complete';
  if (standing === undefined) return completing ? { kind: 'create' } : { kind: 'lost' };
  const { record } = standing;
  if (record.owner === intent.owner) {
    if (record.state === 'running') return { kind: 'write', over: standing };
    // Our own `completed`: the completion had succeeded. Our own `released`: over, for good.
    return record.state === 'completed' || intent.kind === 'give-up' ? { kind: 'done' } : { kind: 'lost' };
  }
  if (completing && record.state === 'completed' && !fingerprintsDiffer(record.fingerprint, intent.fingerprint)) {
    return { kind: 'adopt', outcome: record.outcome ?? NO_OUTCOME, attempt: record.attempt };
  }
  return { kind: 'lost' };
}

function person(standing: Stored | undefined, intent: PersonIntent, { nowMs, uncertaintyMs }: ClockFacts): PersonDecision {
  if (standing === undefined || (intent.kind !== 'erase' && isExpired(standing.record, standing.ageMs, uncertaintyMs))) return { kind: 'absent' };
  const { record, ageMs } = standing;
  const alive = record.state === 'running' && !isLapsed(record, ageMs, uncertaintyMs);
  if (alive && !intent.force) return { kind: 'running', retryAfterMs: retryAfter(standing, uncertaintyMs) };
  // What a person said, a person may correct: nothing else could be done about a slip, or about a value that nobody can read.
  const ownWord = record.outcome !== undefined && 'resolved' in record.outcome && intent.force;
  if (intent.kind === 'resolve' && !ownWord && (record.state === 'completed' || record.state === 'released')) return { kind: 'not-needed' };
  return { kind: 'write', over: standing, token: Math.max(record.token + 1, nowMs) };
}

const NO_OUTCOME: Outcome = { kind: 'not-stored', reason: 'not-serializable' };

/** min(lease left, max(1 s, age of the record), 10 s). */
function retryAfter({ record, ageMs }: Stored, uncertaintyMs: number): number {
  const leftMs = record.leaseMs + uncertaintyMs - ageMs;
  return Math.max(1, Math.ceil(Math.min(leftMs, Math.max(1_000, ageMs), 10_000)));
}
