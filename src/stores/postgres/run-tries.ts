/**
 * One call of `runInTransaction`, from its first transaction to an answer: which failures mean "all of it again", and what became of a COMMIT that
 * nobody answered.
 *
 * @module
 */
import { isRerunSafeError, RerunSafeError, storeUnavailable } from '../../core/errors.ts';
import { type TransactionCall, tellTransaction } from '../../core/in-transaction.ts';
import type { RunResult } from '../../core/run-once.ts';
import { elapsedMs, type Instant, instant, pause, realSystem } from '../../core/system.ts';
import { pauseBeforeMs } from '../../core/waits.ts';
import { isConnectionLost, isLockTimeout, isSerializationFailure, mapError } from './map-error.ts';
import type { PoolLike } from './query.ts';
import { Again, blocked, type Committed, inOneTry, type Place, type TransactionWork, type Try, WorkThrew } from './run-try.ts';
import { isCutByDriver, type Session } from './session.ts';
import { type Isolation, inTransaction } from './transaction.ts';

export interface TryLimits {
  readonly isolation: Isolation | undefined;
  readonly waitMs: number;
  readonly statementTimeoutMs: number | undefined;
  readonly idleTimeoutMs: number | undefined;
  readonly maxTries: number;
  readonly settleMs: number;
}

/** Our own statements may take so much longer than their wait for a lock. */
const STATEMENT_MARGIN_MS = 5_000;
const IN_FLIGHT: RunResult<never> = { kind: 'in-flight', retryAfterMs: 1_000 };

export interface TriesOptions<T> {
  readonly pool: PoolLike;
  readonly place: Place;
  readonly call: TransactionCall;
  readonly limits: TryLimits;
  readonly work: TransactionWork<T>;
}

export class RunTries<T> {
  readonly #options: TriesOptions<T>;
  /** What each COMMIT that was sent would have brought about, by the revision it wrote. */
  readonly #sent = new Map<string, Committed<T>>();
  /** Since when a COMMIT is without an answer. */
  #doubtSince: Instant | undefined;
  #doubt: unknown;
  /** Since when the driver gives up our wait for the row, sooner than the server does. */
  #cutSince: Instant | undefined;

  constructor(options: TriesOptions<T>) {
    this.#options = options;
  }

  async run(): Promise<RunResult<T>> {
    const { call, limits } = this.#options;
    let failure: unknown;
    for (let tries = 0, round = 0; tries < limits.maxTries || this.#doubtSince !== undefined; round++) {
      if (round > 0) await this.#pause(round - 1);
      const asked = this.#doubtSince !== undefined;
      const one = this.#one(tries < limits.maxTries);
      const begunAt = instant(realSystem.clock);
      const answer = await this.#try(one);
      if (!(answer instanceof Again)) return answer;
      failure = answer.cause;
      // To ask what became of a COMMIT is no try: that is one where the work has begun.
      const isWait = one.stage === 'claim' && isCutByDriver(failure) && !asked;
      if (isWait) {
        this.#cutSince ??= begunAt;
        if (elapsedMs(this.#cutSince, realSystem.clock) >= limits.waitMs) return this.#inFlight();
      } else if (!asked || one.stage !== 'claim') tries += 1;
      if (this.#doubtSince !== undefined && elapsedMs(this.#doubtSince, realSystem.clock) >= limits.settleMs) throw this.#unknown(failure);
    }
    const error = storeUnavailable(`${call.operation}: rolled back ${limits.maxTries} times, for other transactions or a lost connection`, failure);
    tellTransaction(call, { event: 'refused', error });
    throw error;
  }

  async #pause(round: number): Promise<void> {
    try {
      await pause(realSystem, pauseBeforeMs(round, realSystem), this.#options.call.signal);
    } catch (reason) {
      throw this.#doubtSince === undefined ? reason : this.#unknown(reason);
    }
  }

  #one(mayBegin: boolean): Try<T> {
    const { place, call, work, limits } = this.#options;
    const { waitMs, statementTimeoutMs } = limits;
    const onBegun = (): void => {
      // Nobody but us holds the row: whatever was sent before has ended, and left nothing.
      this.#doubtSince = undefined;
      if (!mayBegin) throw new Again(this.#doubt);
    };
    return { place, call, work, waitMs, statementTimeoutMs, sent: this.#sent, onBegun, stage: 'claim' };
  }

  async #try(one: Try<T>): Promise<RunResult<T> | Again> {
    const { pool, call, limits } = this.#options;
    const { isolation, idleTimeoutMs, waitMs } = limits;
    // A limit of 0 would mean none.
    const lockTimeoutMs = Math.max(1, waitMs);
    const its = { isolation, idleTimeoutMs, lockTimeoutMs, statementTimeoutMs: lockTimeoutMs + STATEMENT_MARGIN_MS, signal: call.signal };
    const ours = { marksItself: true, onEnded: (session: Session, thrown: unknown) => blocked(one, session, thrown) };
    try {
      const { result, tell } = await inTransaction(pool, { ...its, ...ours }, (tx, session, usual) => inOneTry(one, tx, session, usual));
      tellTransaction(call, tell);
      return result;
    } catch (error) {
      return this.#failed(error, one.stage);
    }
  }

  /** What to do about a transaction that did not commit, or may have. */
  #failed(error: unknown, stage: Try<T>['stage']): RunResult<T> | Again {
    const { call } = this.#options;
    if (error instanceof Again) return error;
    if (error instanceof WorkThrew) {
      tellTransaction(call, { event: 'released', error: error.thrown });
      throw error.thrown;
    }
    if (stage === 'ended') {
      const unknown = mapError(error, 'outcome', true);
      tellTransaction(call, { event: 'unknown', error: unknown });
      throw unknown;
    }
    if (stage === 'commit') {
      // The latter: rolled back before the COMMIT came.
      if (isSerializationFailure(error) || isRerunSafeError(error, 'STORE_UNAVAILABLE')) return new Again(error);
      if (isRerunSafeError(error, 'WRITE_UNKNOWN')) {
        this.#doubtSince ??= instant(realSystem.clock);
        this.#doubt = error;
        return new Again(error);
      }
      // A deferred constraint is the caller's.
      tellTransaction(call, { event: 'released', error });
      throw error;
    }
    // Also the end of a transaction that has written nothing, or what may be written again (`blocked`).
    const isUnanswered = stage === 'claim' && isRerunSafeError(error, 'WRITE_UNKNOWN');
    const isLost = isConnectionLost(isRerunSafeError(error) ? error.cause : error);
    if (isSerializationFailure(error) || isLost || isUnanswered) return new Again(error);
    const doubted = this.#doubtSince !== undefined;
    if (call.signal?.aborted && error === call.signal.reason) throw doubted ? this.#unknown(error) : error;
    if (stage === 'claim' && isLockTimeout(error) && !doubted) {
      return this.#inFlight();
    }
    const mapped = mapError(error, stage === 'claim' ? 'claim' : 'outcome', false);
    // The outcome of somebody else, which cannot be handed out, says that ours does not stand.
    if (doubted && mapped.code !== 'RESULT_NOT_STORED') {
      if (mapped.retryable) return new Again(mapped);
      throw this.#unknown(mapped);
    }
    tellTransaction(call, { event: mapped.code === 'WRITE_UNKNOWN' ? 'unknown' : 'refused', error: mapped });
    throw mapped;
  }

  #inFlight(): RunResult<T> {
    tellTransaction(this.#options.call, { event: 'in-flight' });
    return IN_FLIGHT;
  }

  #unknown(failure: unknown): RerunSafeError {
    const { operation, id } = this.#options.call;
    tellTransaction(this.#options.call, { event: 'unknown', error: this.#doubt });
    return new RerunSafeError(
      'WRITE_UNKNOWN',
      `${operation}: the connection was lost during COMMIT, and what became of it could not be found out. Make the same call again: it finds out, and nothing is done twice.`,
      { cause: failure ?? this.#doubt, facts: { operation, id } },
    );
  }
}
