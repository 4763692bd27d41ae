/**
 * Runs a piece of work once for its key, and hands everybody the same outcome.
 *
 * @module
 */
import { takeBeside } from './beside.ts';
import { type CallFacts, Claimer, type ClaimResult } from './claim.ts';
import { isRerunSafeError, RerunSafeError } from './errors.ts';
import { type RunEvent, type RunEventName, tellRun } from './events.ts';
import { fingerprintOf, ownFingerprint } from './fingerprint.ts';
import { type Call, type FormedGuard, type Guard, type RunOnceOptions, splitOptions } from './guard.ts';
import { keyParts, labelOf, recordId, scopeHash, scopeParts } from './key.ts';
import { unguardedRun } from './live-run.ts';
import { keepLocally, recallLocally } from './local-replay.ts';
import { isObserved, observed } from './observed.ts';
import { invalidOptions, isFunction } from './options.ts';
import { Owned, type Work } from './owned.ts';
import type { System } from './ports.ts';
import type { BlockedWhy, Whole } from './record.ts';
import { type RunResult, replayOf } from './replay.ts';
import { inRun, type Run } from './run.ts';
import { realSystem } from './system.ts';
import { formed } from './value-forms.ts';

export type { RunResult, Work };

/**
 * Runs `work` once for (operation, scope, key) and returns its value, now and on every later call within the retention.
 *
 * @throws RerunSafeError `IN_FLIGHT`, `KEY_REUSED`, `BLOCKED`, `LEASE_LOST`, `RESULT_NOT_STORED`, `MISSING_KEY`, `STORE_UNAVAILABLE`,
 * `WRITE_UNKNOWN`, …; a remembered `PermanentError`; and whatever the work throws, untouched.
 * @example
 * const receipt = await runOnce({ store, operation: 'payments/charge', key: orderId, input: order }, (run) => charge(order, run.keyFor('charge')));
 */
export async function runOnce<T>(options: RunOnceOptions<T>, work: Work<T>): Promise<T> {
  const { guard, call } = splitOptions('runOnce', options);
  mustRun('runOnce', work);
  return unwrap(guard, await runGuarded(guard, call, work));
}

/** Like {@link runOnce}, for those who want to look: what normal life brings is a value, anything else throws. */
export async function tryRunOnce<T>(options: RunOnceOptions<T>, work: Work<T>): Promise<RunResult<T>> {
  const { guard, call } = splitOptions('tryRunOnce', options);
  mustRun('tryRunOnce', work);
  return runGuarded(guard, call, work);
}

/** Asked before the claim: afterwards it would look like an attempt that failed. */
function mustRun(what: string, work: unknown): void {
  const wrong = isFunction(work);
  if (wrong !== undefined) throw invalidOptions(what, [`the work ${wrong}`]);
}

/** The value, or the error that says why there is none. */
export function unwrap<T>(guard: Guard<T>, result: RunResult<T>): T {
  const { operation } = guard;
  switch (result.kind) {
    case 'completed':
      return result.value;
    case 'failed':
      throw result.error;
    case 'in-flight':
      throw new RerunSafeError(
        'IN_FLIGHT',
        `${operation}: the same run may still be going on (its lease lasts). Try again in ${result.retryAfterMs} ms.`,
        {
          retryAfterMs: result.retryAfterMs,
          facts: { operation },
        },
      );
    case 'key-reused':
      throw new RerunSafeError('KEY_REUSED', `${operation}: this key was used with another input. Nothing was run; use a new key.`, {
        facts: { operation },
      });
    case 'blocked':
      throw new RerunSafeError(
        'BLOCKED',
        `${operation}: ${BLOCKED_BECAUSE[result.why] ?? `it is blocked (${result.why})`}. A person has to say what became of it (resolveRun, forgetRun); nothing was run.`,
        { facts: { operation, id: result.id, why: result.why, attempt: result.attempt } },
      );
  }
}

/** A later version may know more reasons. */
const BLOCKED_BECAUSE: Readonly<Partial<Record<BlockedWhy, string>>> = {
  unknown: 'an earlier attempt ended with no outcome, and nobody knows what it did',
  attempts: 'as many attempts as maxAttempts allows ended without an outcome',
  failed: 'it has failed, and is not to run again by itself',
  'step-not-stored': 'a step of it is done and its value could not be kept, so that no attempt gets past it',
};

type Kept = Pick<Extract<Claimed, { kind: 'replay' }>, 'outcome' | 'attempt' | 'leftMs'>;
type Claimed = Exclude<ClaimResult, { kind: 'replay' }> | (Extract<ClaimResult, { kind: 'replay' }> & { readonly outcome: Whole });

const isWhole = (claim: ClaimResult): claim is Claimed => claim.kind !== 'replay' || claim.outcome.kind !== 'parts';

/** With what lies beside the record. Where that is gone, the record may be too: it is looked at once more. */
async function withParts(facts: CallFacts, claim: ClaimResult): Promise<Claimed> {
  if (claim.kind !== 'replay') return claim;
  try {
    return { ...claim, outcome: await takeBeside(facts, claim.outcome) };
  } catch (error) {
    if (!isRerunSafeError(error, 'STORE_MISCONFIGURED')) throw error;
  }
  const again = await new Claimer(facts).claim();
  return again.kind === 'replay' ? { ...again, outcome: await takeBeside(facts, again.outcome) } : again;
}

/** The engine behind every entry point: options are already checked, `system` is where time comes from. */
export function runGuarded<T>(guard: FormedGuard<T>, call: Call, work: Work<T>, system: System = realSystem): Promise<RunResult<T>> {
  let facts: CallFacts;
  try {
    facts = factsOf(guard as Guard, call, system);
  } catch (error) {
    return Promise.reject(error);
  }
  if (!isObserved()) return guarded(facts, guard, work);
  const { operation, store } = guard;
  return observed({ kind: 'run', operation, id: facts.id, store: store.name, label: facts.label }, () => guarded(facts, guard, work));
}

async function guarded<T>(facts: CallFacts, guard: FormedGuard<T>, work: Work<T>): Promise<RunResult<T>> {
  const tell = (event: RunEventName, more: Pick<RunEvent, 'attempt' | 'token' | 'error' | 'notKept' | 'notKeptAt'> = {}): void =>
    tellRun({ event, operation: guard.operation, id: facts.id, store: guard.store.name, ...more });
  const refused = (error: unknown): unknown => {
    if (isRerunSafeError(error)) tell('refused', { error });
    return error;
  };
  const replay = async ({ outcome, attempt, leftMs }: Kept, event: 'replayed' | 'waited', local: boolean) => {
    let result: RunResult<T>;
    try {
      if (!local) keepLocally(facts, outcome, attempt, leftMs);
      result = replayOf(guard, facts.id, outcome, attempt);
      tell(event, { attempt });
    } catch (error) {
      throw refused(error);
    }
    return formed(guard, result, local);
  };
  facts.signal?.throwIfAborted();
  if (switchedOff()) return unguarded(facts, work);
  const local = recallLocally(facts);
  if (local !== undefined) return replay({ ...local, leftMs: 0 }, 'replayed', true);
  let first: ClaimResult;
  try {
    first = await new Claimer(facts).claim();
  } catch (error) {
    if (guard.onStoreDown !== 'run' || !isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw refused(error);
    tell('unguarded', { error });
    return unguarded(facts, work);
  }
  // Outside of that: a store that has told of an outcome is no reason to run the work.
  const claim = isWhole(first)
    ? first
    : await withParts(facts, first).catch((error: unknown) => {
        throw refused(error);
      });
  if (claim.kind === 'replay') return await replay(claim, claim.waited ? 'waited' : 'replayed', false);
  if (claim.kind === 'blocked') {
    tell('blocked', { attempt: claim.attempt });
    return { kind: 'blocked', id: facts.id, why: claim.why, attempt: claim.attempt };
  }
  if (claim.kind !== 'claimed') {
    tell(claim.kind);
    return claim;
  }
  const { record, afterUnknown } = claim.held;
  tell(afterUnknown ? 'taken-over' : 'claimed', { attempt: record.attempt, token: record.token });
  return await formed(guard, await new Owned(facts, claim.held, guard, tell).run(work), false);
}

function factsOf(guard: Guard, call: Call, system: System): CallFacts {
  const key = keyParts(call.key, guard.operation);
  const scope = scopeParts(call.scope, guard.operation);
  const leaseMs = call.leaseMs ?? guard.leaseMs;
  // Given by an adapter, from what its platform says of the time that is left.
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 0)
    throw invalidOptions(guard.operation, [`the lease must be a whole number of ms, not ${leaseMs}`]);
  const label = guard.label === true ? labelOf(key) : guard.label === false ? undefined : guard.label;
  const own = call.fingerprint === undefined ? undefined : ownFingerprint(call.fingerprint);
  return {
    system,
    guard,
    id: recordId(guard.operation, scope, key),
    scope: scopeHash(scope),
    label,
    fingerprint: own ?? call.inputFingerprint ?? (call.input === undefined ? undefined : fingerprintOf(call.input)),
    holder: call.holder ?? `process ${process.pid}`,
    leaseMs,
    retention: longerThan(leaseMs, guard.retention),
    waitMs: call.waitMs ?? guard.waitMs,
    remainingMs: call.remainingMs ?? guard.remainingMs ?? (() => Number.POSITIVE_INFINITY),
    signal: call.signal ?? guard.signal,
  };
}

/** The lease of a call may be longer than its guard's. */
const longerThan = (leaseMs: number, { completed, error, released }: Guard['retention']): Guard['retention'] => ({
  completed: Math.max(completed, leaseMs + 1),
  error: Math.max(error, leaseMs + 1),
  released: Math.max(released, leaseMs + 1),
});

async function unguarded<T>(facts: CallFacts, work: Work<T>): Promise<RunResult<T>> {
  const run = unguardedRun<T>({ ...facts, operation: facts.guard.operation });
  const value = await inRun(run as Run, () => work(run));
  return { kind: 'completed', value, replayed: false, saved: false, attempt: 1 };
}

let warned = false;

/** `RERUNSAFE_DISABLED=1`: for local work only, and never quietly. */
function switchedOff(): boolean {
  if (process.env.RERUNSAFE_DISABLED !== '1') return false;
  if (!warned)
    process.emitWarning('RERUNSAFE_DISABLED=1: no key is guarded; every call runs the work. Leases are taken all the same.', {
      code: 'RERUNSAFE_DISABLED',
    });
  warned = true;
  return true;
}
