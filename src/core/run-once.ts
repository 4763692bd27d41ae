/**
 * Runs a piece of work once for its key, and hands everybody the same outcome.
 *
 * @module
 */
import { Attempt, type MoveResult } from './attempt.ts';
import { type CallFacts, Claimer, type ClaimResult, type Held } from './claim.ts';
import { decode } from './codec.ts';
import { errorOutcome } from './error-outcome.ts';
import { isNotDoneError, isPermanentError, isRerunSafeError, PermanentError, RerunSafeError } from './errors.ts';
import { type RunEventName, tellRun } from './events.ts';
import { fingerprintOf, ownFingerprint } from './fingerprint.ts';
import { type Call, type Guard, type RunOnceOptions, splitOptions, type ThrowVerdict } from './guard.ts';
import { keyParts, labelOf, recordId, scopeHash, scopeParts } from './key.ts';
import { LiveRun, outcomeOf, unguardedRun } from './live-run.ts';
import type { System } from './ports.ts';
import type { Outcome } from './record.ts';
import { inRun, type Run } from './run.ts';
import { realSystem } from './system.ts';

export type RunResult<T> =
  /** `saved: false`: the work succeeded, but no save got through; see `save-failed`. */
  | { readonly kind: 'completed'; readonly value: T; readonly replayed: boolean; readonly saved: boolean; readonly attempt: number }
  /** A remembered error. On the first run `error` is the very thing that was thrown. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly replayed: boolean }
  | { readonly kind: 'in-flight'; readonly retryAfterMs: number }
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'blocked' };

export type Work<T> = (run: Run<T>) => T | Promise<T>;

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
  return unwrap(guard, await runGuarded(guard, call, work));
}

/** Like {@link runOnce}, for those who want to look: what normal life brings is a value, anything else throws. */
export async function tryRunOnce<T>(options: RunOnceOptions<T>, work: Work<T>): Promise<RunResult<T>> {
  const { guard, call } = splitOptions('tryRunOnce', options);
  return runGuarded(guard, call, work);
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
      throw new RerunSafeError('IN_FLIGHT', `${operation}: the same run is still going on. Try again in ${result.retryAfterMs} ms.`, {
        retryAfterMs: result.retryAfterMs,
        facts: { operation },
      });
    case 'key-reused':
      throw new RerunSafeError('KEY_REUSED', `${operation}: this key was used with another input. Nothing was run; use a new key.`, {
        facts: { operation },
      });
    case 'blocked':
      throw new RerunSafeError(
        'BLOCKED',
        `${operation}: an earlier attempt ended with no outcome, or too many were made. A person has to resolve it; nothing was run.`,
        {
          facts: { operation },
        },
      );
  }
}

/** The engine behind every entry point: options are already checked, `system` is where time comes from. */
export async function runGuarded<T>(guard: Guard<T>, call: Call, work: Work<T>, system: System = realSystem): Promise<RunResult<T>> {
  const facts = factsOf(guard as Guard, call, system);
  const tell = (event: RunEventName, more: { attempt?: number; token?: number; error?: unknown } = {}): void =>
    tellRun({ event, operation: guard.operation, id: facts.id, store: guard.store.name, ...more });
  facts.signal?.throwIfAborted();
  if (switchedOff()) return unguarded(facts, work);
  let claim: ClaimResult;
  try {
    claim = await new Claimer(facts).claim();
  } catch (error) {
    if (guard.onStoreDown !== 'run' || !isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw error;
    tell('unguarded', { error });
    return unguarded(facts, work);
  }
  if (claim.kind === 'replay') {
    tell(claim.waited ? 'waited' : 'replayed', { attempt: claim.attempt });
    return replayOf<T>(guard.operation, claim.outcome, claim.attempt);
  }
  if (claim.kind === 'blocked') {
    tell('blocked');
    return { kind: 'blocked' };
  }
  if (claim.kind !== 'claimed') {
    tell(claim.kind);
    return claim;
  }
  const { record } = claim.held;
  tell(claim.takenOver ? 'taken-over' : 'claimed', { attempt: record.attempt, token: record.token });
  return new Owned(facts, claim.held, guard, tell).run(work, claim.ask);
}

class Owned<T> {
  readonly #guard: Guard<T>;
  readonly #tell: (event: RunEventName, error?: unknown) => void;
  readonly #attempt: Attempt;
  readonly #run: LiveRun<T>;

  constructor(
    facts: CallFacts,
    held: Held,
    guard: Guard<T>,
    tell: (event: RunEventName, more: { attempt: number; token: number; error?: unknown }) => void,
  ) {
    this.#guard = guard;
    const { attempt, token } = held.record;
    this.#tell = (event, error) => tell(event, { attempt, token, ...(error === undefined ? {} : { error }) });
    this.#attempt = new Attempt(facts, held, (error) => this.#tell('lease-lost', error));
    this.#run = new LiveRun<T>(facts, this.#attempt);
  }

  async run(work: Work<T>, ask: boolean): Promise<RunResult<T>> {
    try {
      if (ask) {
        const answered = await this.#ask();
        if (answered !== undefined) return answered;
      }
      return await this.#work(work);
    } finally {
      this.#attempt.lifetime.end();
    }
  }

  /** Under the new lease, so that nobody else acts on the answer. undefined: not done, go on with the work. */
  async #ask(): Promise<RunResult<T> | undefined> {
    const { onUnknown } = this.#guard;
    if (typeof onUnknown !== 'function') return undefined;
    let answer: Awaited<ReturnType<typeof onUnknown>>;
    try {
      answer = await inRun(this.#run as Run, () => onUnknown(this.#run));
    } catch (error) {
      this.#tell('unknown', error);
      await this.#attempt.giveUp('unknown');
      throw error;
    }
    if (answer === 'not-done') return undefined;
    if (answer === 'block') {
      await this.#attempt.block();
      this.#tell('blocked');
      return { kind: 'blocked' };
    }
    if (typeof answer === 'object' && answer !== null && 'done' in answer) return this.#complete(answer.done);
    await this.#attempt.giveUp('unknown');
    throw new RerunSafeError(
      'INVALID_OPTIONS',
      "onUnknown must answer { done: value }, 'not-done' or 'block'. The outcome is still unknown; nothing was run.",
    );
  }

  async #work(work: Work<T>): Promise<RunResult<T>> {
    let end: { readonly value: T } | { readonly thrown: unknown };
    try {
      end = { value: await inRun(this.#run as Run, () => work(this.#run)) };
    } catch (thrown) {
      end = { thrown };
    }
    await this.#run.settled();
    const { committed } = this.#run;
    if (committed.kind === 'committed') {
      this.#tell('completed');
      return this.#completed(committed.value, true);
    }
    if ('thrown' in end) return this.#threw(end.thrown);
    // The commit may have landed: a completion with another value could only hide that.
    if (committed.kind === 'in-doubt') throw committed.error;
    return this.#complete(end.value);
  }

  async #complete(value: T): Promise<RunResult<T>> {
    let result = await this.#attempt.complete(outcomeOf(value));
    if (result.kind === 'too-large') result = await this.#attempt.complete({ kind: 'not-stored', reason: 'too-large' });
    if (result.kind === 'written') {
      if (result.vanished) this.#tell('record-vanished');
      this.#tell('completed');
      return this.#completed(value, true);
    }
    if (result.kind === 'no-answer' || result.kind === 'too-large') return this.#notSaved(value, result);
    return this.#overtaken(result);
  }

  #notSaved(value: T, result: MoveResult): RunResult<T> {
    const error = result.kind === 'no-answer' ? result.error : undefined;
    this.#tell('save-failed', error);
    if (this.#guard.onSaveFailed === 'return') return this.#completed(value, false);
    throw new RerunSafeError('WRITE_UNKNOWN', `${this.#guard.operation}: the work succeeded, but nobody knows whether its outcome was saved.`, {
      cause: error,
    });
  }

  #overtaken(result: Extract<MoveResult, { kind: 'adopt' | 'lost' }>): RunResult<T> {
    this.#attempt.lifetime.lose('somebody else took it over');
    if (result.kind === 'adopt') return replayOf<T>(this.#guard.operation, result.outcome, result.attempt);
    throw this.#attempt.lifetime.lossError();
  }

  /** The caller gets the very thing that was thrown, whatever becomes of the record. */
  async #threw(thrown: unknown): Promise<RunResult<T>> {
    const verdict = this.#run.committed.kind === 'in-doubt' ? 'unknown' : this.#judge(thrown);
    if (this.#attempt.lifetime.lost || this.#run.committed.kind === 'in-doubt') throw thrown;
    if (verdict === 'remember') {
      let result = await this.#attempt.complete(errorOutcome(thrown));
      if (result.kind === 'too-large') result = await this.#attempt.complete(errorOutcome(thrown, true));
      this.#tell(result.kind === 'written' ? 'remembered' : 'save-failed', thrown);
      if (result.kind !== 'written') throw thrown;
      return { kind: 'failed', error: thrown, replayed: false };
    }
    const result = await this.#attempt.giveUp(verdict === 'release' ? 'released' : 'unknown');
    if (result.kind !== 'written') this.#tell('save-failed', result.kind === 'no-answer' ? result.error : undefined);
    else this.#tell(verdict === 'release' ? 'released' : 'unknown', thrown);
    throw thrown;
  }

  #judge(thrown: unknown): ThrowVerdict {
    const { onThrow, onUnknown } = this.#guard;
    try {
      const chosen = onThrow?.(thrown);
      if (chosen === 'release' || chosen === 'remember' || chosen === 'unknown') return chosen;
      if (isPermanentError(thrown)) return 'remember';
      return onUnknown === 'retry' || isNotDoneError(thrown) ? 'release' : 'unknown';
    } catch {
      // A judge that fails has said nothing; and nobody may take silence for "it did not happen".
      return 'unknown';
    }
  }

  #completed(value: T, saved: boolean): RunResult<T> {
    return { kind: 'completed', value, replayed: false, saved, attempt: this.#attempt.attempt };
  }
}

function factsOf(guard: Guard, call: Call, system: System): CallFacts {
  const key = keyParts(call.key);
  const scope = scopeParts(call.scope);
  const leaseMs = call.leaseMs ?? guard.leaseMs;
  const label = guard.label === true ? labelOf(key) : guard.label === false ? undefined : guard.label;
  const own = call.fingerprint === undefined ? undefined : ownFingerprint(call.fingerprint);
  return {
    system,
    guard,
    id: recordId(guard.operation, scope, key),
    scope: scopeHash(scope),
    label,
    fingerprint: own ?? (call.input === undefined ? undefined : fingerprintOf(call.input)),
    holder: call.holder ?? `process ${process.pid}`,
    leaseMs,
    retentionMs: Math.max(guard.retentionMs, leaseMs + 1),
    waitMs: call.waitMs ?? guard.waitMs,
    remainingMs: call.remainingMs ?? guard.remainingMs ?? (() => Number.POSITIVE_INFINITY),
    signal: call.signal ?? guard.signal,
  };
}

async function unguarded<T>(facts: CallFacts, work: Work<T>): Promise<RunResult<T>> {
  const run = unguardedRun<T>(facts);
  const value = await inRun(run as Run, () => work(run));
  return { kind: 'completed', value, replayed: false, saved: false, attempt: 1 };
}

function replayOf<T>(operation: string, outcome: Outcome, attempt: number): RunResult<T> {
  if (outcome.kind === 'value') return { kind: 'completed', value: decode(outcome.value) as T, replayed: true, saved: true, attempt };
  if (outcome.kind === 'error') {
    const { name, message, code, data } = outcome.error;
    const error = new PermanentError(message, { name, code, data: data === undefined ? undefined : decode(data) });
    return { kind: 'failed', error, replayed: true };
  }
  throw new RerunSafeError(
    'RESULT_NOT_STORED',
    `${operation}: the work was done, but its value could not be kept (${outcome.reason}). It is not run again.`,
    {
      facts: { operation, reason: outcome.reason },
    },
  );
}

let warned = false;

/** `RERUNSAFE_DISABLED=1`: for local work only, and never quietly. */
function switchedOff(): boolean {
  if (process.env.RERUNSAFE_DISABLED !== '1') return false;
  if (!warned) process.emitWarning('RERUNSAFE_DISABLED=1: nothing is guarded; every call runs the work.', { code: 'RERUNSAFE_DISABLED' });
  warned = true;
  return true;
}
