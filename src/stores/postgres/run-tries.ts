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
import type { OutboxPlacing } from './outbox-table.ts';
import type { PoolLike } from './query.ts';
import { Again, type Committed, inOneTry, type TransactionWork, type Try, WorkThrew } from './run-try.ts';
import { type Isolation, inTransaction } from './transaction.ts';
import type { TransactionRows } from './transaction-rows.ts';

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
  readonly rows: TransactionRows;
  readonly call: TransactionCall;
  readonly outbox: OutboxPlacing;
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

  constructor(options: TriesOptions<T>) {
    this.#options = options;
  }

  async run(): Promise<RunResult<T>> {
    const { call, limits } = this.#options;
    let failure: unknown;
    for (let tries = 0, round = 0; tries < limits.maxTries || this.#doubtSince !== undefined; round++) {
      if (round > 0) await this.#pause(round - 1);
      const answer = await this.#try();
      if (!(answer instanceof Again)) return answer;
      failure = answer.cause;
      // While a COMMIT is in doubt, what fails is the question what became of it, not another try.
      if (this.#doubtSince === undefined) tries += 1;
      else if (elapsedMs(this.#doubtSince, realSystem.clock) >= limits.settleMs) throw this.#unknown(failure);
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

  async #try(): Promise<RunResult<T> | Again> {
    const { pool, rows, call, work, outbox, limits } = this.#options;
    const { isolation, idleTimeoutMs, statementTimeoutMs, waitMs } = limits;
    const one: Try<T> = {
      ...{ rows, call, work, outbox, waitMs, statementTimeoutMs },
      stage: 'claim',
      sent: this.#sent,
      // Nobody but us holds the row: whatever was sent before has ended, and left nothing.
      onBegun: () => {
        this.#doubtSince = undefined;
      },
    };
    // A limit of 0 would mean none.
    const lockTimeoutMs = Math.max(1, waitMs);
    const its = { isolation, idleTimeoutMs, lockTimeoutMs, statementTimeoutMs: lockTimeoutMs + STATEMENT_MARGIN_MS, signal: call.signal };
    try {
      const { result, tell } = await inTransaction(pool, its, (tx, session, usual) => inOneTry(one, tx, session, usual));
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
    if (stage === 'commit') {
      if (isSerializationFailure(error)) return new Again(error);
      if (isRerunSafeError(error, 'WRITE_UNKNOWN')) {
        this.#doubtSince ??= instant(realSystem.clock);
        this.#doubt = error;
        return new Again(error);
      }
      // A deferred constraint is the caller's.
      tellTransaction(call, { event: 'released', error });
      throw error;
    }
    if (isSerializationFailure(error) || isConnectionLost(isRerunSafeError(error) ? error.cause : error)) return new Again(error);
    const doubted = this.#doubtSince !== undefined;
    if (stage === 'claim' && isLockTimeout(error)) {
      if (doubted) return new Again(error);
      tellTransaction(call, { event: 'in-flight' });
      return IN_FLIGHT;
    }
    if (error === call.signal?.reason) throw doubted ? this.#unknown(error) : error;
    const mapped = mapError(error, stage === 'claim' ? 'claim' : 'outcome', false);
    if (doubted && mapped.retryable) return new Again(mapped);
    tellTransaction(call, { event: 'refused', error: mapped });
    throw mapped;
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
