/**
 * An attempt from the claim to the outcome: the work, and what becomes of what it returns or throws.
 *
 * @module
 */
import { Attempt } from './attempt.ts';
import { takeBeside } from './beside.ts';
import type { CallFacts, Held } from './claim.ts';
import { errorOutcome } from './error-outcome.ts';
import { isNotDoneError, isPermanentError, isRerunSafeError, RerunSafeError, writeUnknown } from './errors.ts';
import type { RunEvent, RunEventName } from './events.ts';
import { type FormedGuard, type ThrowVerdict, verdictOf } from './guard.ts';
import { LiveRun, outcomeOf } from './live-run.ts';
import { keepLocally } from './local-replay.ts';
import type { MoveResult } from './move.ts';
import { notKeptAt } from './not-kept.ts';
import { invalidOptions } from './options.ts';
import type { BlockedWhy, RecordId, Whole } from './record.ts';
import { type RunResult, replayOf, withCodec } from './replay.ts';
import { inRun, type Run } from './run.ts';
import { sealed } from './seal.ts';

type WhatIsNotKept = Pick<RunEvent, 'notKept' | 'notKeptAt'>;

/** `run` does not depend on `T`, so that `T` is inferred from what the work returns. */
export type { RunResult };
export type Work<T> = (run: Run) => T | Promise<T>;

export class Owned<T> {
  readonly #guard: FormedGuard<T>;
  readonly #signal: AbortSignal | undefined;
  readonly #facts: CallFacts;
  readonly #id: RecordId;
  readonly #afterUnknown: boolean;
  readonly #ask: boolean;
  readonly #tell: (event: RunEventName, error?: unknown, notKept?: WhatIsNotKept) => void;
  readonly #attempt: Attempt;
  readonly #run: LiveRun<T>;

  constructor(
    facts: CallFacts,
    held: Held,
    guard: FormedGuard<T>,
    tell: (event: RunEventName, more: Pick<RunEvent, 'attempt' | 'token' | 'error' | 'notKept' | 'notKeptAt'>) => void,
  ) {
    this.#guard = guard;
    this.#signal = facts.signal;
    this.#facts = facts;
    this.#id = facts.id;
    this.#afterUnknown = held.afterUnknown;
    this.#ask = held.ask;
    const { attempt, token } = held.record;
    this.#tell = (event, error, notKept) => tell(event, { attempt, token, ...(error === undefined ? {} : { error }), ...notKept });
    this.#attempt = new Attempt(facts, held, (error) => this.#tell('lease-lost', error));
    this.#run = new LiveRun<T>(facts, this.#attempt);
  }

  async run(work: Work<T>): Promise<RunResult<T>> {
    try {
      if (this.#signal?.aborted) {
        // Cancelled while the claim was under way: nothing was begun.
        await this.#attempt.giveUp(this.#afterUnknown ? 'unknown' : 'withdraw');
        throw this.#signal.reason;
      }
      // Who was told of the claim may have taken longer than the lease to hear of it.
      this.#attempt.lifetime.assertHeld();
      if (this.#ask) {
        const answered = await this.#asked();
        if (answered !== undefined) return answered;
        // Asking took its time: the work starts only under a lease that is alive, for a caller who still wants it. In the same turn, or it could be lost
        // in between.
        if (this.#signal?.aborted) return await this.#leftUnknown(this.#signal.reason);
        this.#attempt.lifetime.assertHeld();
      }
      return await this.#work(work);
    } finally {
      await this.#attempt.settled();
      this.#attempt.end();
    }
  }

  /** Under the new lease, so that nobody else acts on the answer. undefined: not done, go on with the work. */
  async #asked(): Promise<RunResult<T> | undefined> {
    const { onUnknown } = this.#guard;
    if (typeof onUnknown !== 'function') return undefined;
    let answer: Awaited<ReturnType<typeof onUnknown>>;
    try {
      answer = await inRun(this.#run as Run, () => onUnknown(this.#run));
    } catch (error) {
      const committed = await this.#committed();
      if (committed !== undefined) return committed;
      return this.#leftUnknown(error);
    }
    // Whoever finds it done may have committed that there and then.
    const committed = await this.#committed();
    if (committed !== undefined) return committed;
    if (answer === 'not-done') return undefined;
    if (answer === 'block') {
      await this.#block();
      return { kind: 'blocked', id: this.#id, why: 'unknown', attempt: this.#attempt.attempt };
    }
    if (typeof answer !== 'object' || answer === null || !('done' in answer)) {
      return this.#leftUnknown(invalidOptions('onUnknown', ["it must answer { done: value }, 'not-done' or 'block'. The outcome is still unknown"]));
    }
    const messages = this.#run.outbox.pending.length;
    return messages > 0 ? this.#leftUnknown(unwritten(this.#guard.operation, messages)) : this.#complete(answer.done);
  }

  /** Asking has brought nothing to light. It may have begun steps: of these as much is true as of those of the work. */
  async #leftUnknown(thrown: unknown): Promise<RunResult<T>> {
    await this.#run.stepsEnded();
    if (this.#attempt.lifetime.lost) throw thrown;
    const stuck = await this.#ifStuck(thrown, 'unknown');
    if (stuck !== undefined) return stuck;
    this.#tell('unknown', thrown);
    if (!this.#run.hasStepsUnderWay) await this.#attempt.giveUp('unknown');
    throw thrown;
  }

  /** Every later attempt would meet it again: then the run is blocked. */
  async #ifStuck(thrown: unknown, verdict: ThrowVerdict): Promise<RunResult<T> | undefined> {
    if (!this.#run.isStuck(thrown) && !(this.#run.isFull && verdict !== 'remember')) return undefined;
    if (!isRerunSafeError(thrown, 'BLOCKED')) {
      await this.#block('step-not-stored').catch((error) => this.#tell('save-failed', error));
      throw thrown;
    }
    await this.#block();
    return { kind: 'blocked', id: this.#id, why: 'unknown', attempt: this.#attempt.attempt };
  }

  /** Blocked is said only when the record is. */
  async #block(why: BlockedWhy = 'unknown', note?: string): Promise<void> {
    const result = await this.#attempt.block(why, note);
    if (result.kind === 'no-answer' || result.kind === 'too-large')
      throw writeUnknown('blocking the record', result.kind === 'no-answer' ? result.error : undefined);
    if (result.kind !== 'written') {
      this.#attempt.lifetime.lose('somebody else took it over');
      throw this.#attempt.lifetime.lossError();
    }
    this.#tell('blocked');
  }

  async #work(work: Work<T>): Promise<RunResult<T>> {
    let end: { readonly value: T } | { readonly thrown: unknown };
    try {
      end = { value: await inRun(this.#run as Run, () => work(this.#run)) };
    } catch (thrown) {
      end = { thrown };
      await this.#run.stepsEnded();
    }
    const committed = await this.#committed('thrown' in end ? end : undefined);
    if (committed !== undefined) return committed;
    if ('thrown' in end) return this.#threw(end.thrown);
    const messages = this.#run.outbox.pending.length;
    if (messages > 0) return this.#threw(unwritten(this.#guard.operation, messages));
    return this.#complete(end.value);
  }

  /** undefined: there was no commit. */
  async #committed(end?: { readonly thrown: unknown }): Promise<RunResult<T> | undefined> {
    await this.#run.commitEnded();
    const { committed } = this.#run;
    if (committed.kind === 'committed') {
      this.#tell('completed');
      return this.#completed(committed.value, true);
    }
    // The commit may have landed: a completion with another value could only hide that. What was thrown matters more to the caller.
    if (committed.kind === 'in-doubt') {
      this.#tell('unknown', committed.error);
      if (end === undefined) throw committed.error;
    }
    return undefined;
  }

  async #complete(value: T): Promise<RunResult<T>> {
    const { codec, seal } = this.#guard;
    const whole = outcomeOf(value, codec);
    let outcome: Whole = sealed(whole, seal, this.#id);
    let kept = await this.#attempt.parts.putOrLeave(outcome, 'completed');
    let result = await this.#attempt.complete(kept);
    if (result.kind === 'too-large') {
      kept = { kind: 'not-stored', reason: 'too-large' };
      result = await this.#attempt.complete(kept);
    }
    if (kept.kind === 'not-stored') outcome = kept;
    if (result.kind === 'written') {
      if (result.vanished) this.#tell('record-vanished');
      if (outcome.kind !== 'not-stored') this.#tell('completed');
      else this.#tell('completed', undefined, { notKept: outcome.reason, ...(codec === undefined ? notKeptAt(outcome.reason, value) : {}) });
      this.#keepLocally(outcome, 'completed');
      return this.#completed(whole.kind === 'value' ? withCodec(codec, whole.value, value) : value, true);
    }
    if (result.kind === 'no-answer' || result.kind === 'too-large') return this.#notSaved(value, result);
    return this.#overtaken(result);
  }

  #keepLocally(outcome: Whole, as: 'completed' | 'error'): void {
    keepLocally(this.#facts, outcome, this.#attempt.attempt, this.#facts.retention[as]);
  }

  #notSaved(value: T, result: MoveResult): RunResult<T> {
    const error = result.kind === 'no-answer' ? result.error : undefined;
    this.#tell('save-failed', error);
    if (this.#guard.onSaveFailed === 'return') return this.#completed(value, false);
    throw new RerunSafeError('WRITE_UNKNOWN', `${this.#guard.operation}: the work succeeded, but nobody knows whether its outcome was saved.`, {
      cause: error,
    });
  }

  async #overtaken(result: Extract<MoveResult, { kind: 'adopt' | 'lost' }>): Promise<RunResult<T>> {
    this.#attempt.lifetime.lose('somebody else took it over');
    if (result.kind === 'adopt') return replayOf(this.#guard, this.#id, await takeBeside(this.#facts, result.outcome), result.attempt);
    throw this.#attempt.lifetime.lossError();
  }

  /** The caller gets the very thing that was thrown, whatever becomes of the record. */
  async #threw(thrown: unknown): Promise<RunResult<T>> {
    const inDoubt = this.#run.committed.kind === 'in-doubt';
    const { as: verdict, note } = inDoubt ? UNKNOWN : this.#judge(thrown);
    if (this.#attempt.lifetime.lost || inDoubt) throw thrown;
    const stuck = await this.#ifStuck(thrown, verdict);
    if (stuck !== undefined) return stuck;
    if (verdict === 'remember') {
      let outcome = this.#errorOutcome(thrown);
      const kept = await this.#attempt.parts.putOrLeave(outcome, 'error');
      if (kept.kind === 'not-stored') outcome = this.#errorOutcome(thrown, true);
      let result = await this.#attempt.complete(kept.kind === 'not-stored' ? outcome : kept, 'error');
      if (result.kind === 'too-large') {
        outcome = this.#errorOutcome(thrown, true);
        result = await this.#attempt.complete(outcome, 'error');
      }
      this.#tell(result.kind === 'written' ? 'remembered' : 'save-failed', thrown);
      if (result.kind !== 'written') throw thrown;
      this.#keepLocally(outcome, 'error');
      return { kind: 'failed', error: thrown, replayed: false };
    }
    // Beside a step that is still under way nothing may begin: then the lease has to run out.
    if (verdict === 'lapse' || this.#run.hasStepsUnderWay) {
      this.#tell('unknown', thrown);
      throw thrown;
    }
    if (verdict === 'block') {
      await this.#block('failed', note).catch((error) => this.#tell('save-failed', error));
      throw thrown;
    }
    // Of this attempt nothing was begun; of the one before it, nobody knows.
    const as = verdict !== 'withdraw' ? verdict : this.#afterUnknown ? 'unknown' : this.#run.hasBegunSteps ? 'release' : verdict;
    const result = await this.#attempt.giveUp(as, note);
    if (result.kind !== 'written') this.#tell('save-failed', result.kind === 'no-answer' ? result.error : undefined);
    else this.#tell(as === 'unknown' ? 'unknown' : 'released', thrown);
    throw thrown;
  }

  #errorOutcome(thrown: unknown, bare = false): Whole {
    return sealed(errorOutcome(thrown, bare), this.#guard.seal, this.#id);
  }

  #judge(thrown: unknown): NonNullable<ReturnType<typeof verdictOf>> {
    const { onThrow, onUnknown } = this.#guard;
    try {
      const chosen = onThrow?.(thrown);
      const verdict = verdictOf(chosen);
      if (verdict !== undefined) return verdict;
      if (chosen !== undefined) {
        process.emitWarning(
          "onThrow must answer 'release', 'remember', 'unknown', 'withdraw', 'lapse', 'block', { as, note } or undefined, at once. The attempt is taken for unknown.",
          {
            code: 'RERUNSAFE_ON_THROW',
          },
        );
        return UNKNOWN;
      }
      if (isPermanentError(thrown)) return { as: 'remember' };
      return { as: onUnknown === 'retry' || isNotDoneError(thrown) ? 'release' : 'unknown' };
    } catch {
      // A judge that fails has said nothing; and nobody may take silence for "it did not happen".
      return UNKNOWN;
    }
  }

  #completed(value: T, saved: boolean): RunResult<T> {
    return { kind: 'completed', value, replayed: false, saved, attempt: this.#attempt.attempt };
  }
}

const UNKNOWN: NonNullable<ReturnType<typeof verdictOf>> = { as: 'unknown' };

const unwritten = (operation: string, messages: number): RerunSafeError =>
  invalidOptions(operation, [`${messages} message(s) were added to the outbox, and no commit has written them (runInTransaction, commitWith)`]);
