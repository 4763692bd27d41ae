/**
 * A run whose record and business rows commit in one transaction: what is decided before the work, and what is written after it. The stores only
 * carry it out (`runInTransaction` of PostgreSQL and SQLite).
 *
 * @module
 */
import { type ClockFacts, decide } from './decide.ts';
import { errorOutcome } from './error-outcome.ts';
import { isPermanentError } from './errors.ts';
import { type RunEvent, type RunEventName, tellRun } from './events.ts';
import { fingerprintOf, ownFingerprint } from './fingerprint.ts';
import { DEFAULT_RETENTION_MS, type Guard } from './guard.ts';
import { type Key, keyParts, labelOf, recordId, scopeHash, scopeParts } from './key.ts';
import { outcomeOf, unguardedRun } from './live-run.ts';
import { notKeptAt } from './not-kept.ts';
import { isObserved, observed } from './observed.ts';
import { anything, either, invalidOptions, isBoolean, isFunction, isInteger, isName, isOneOf, isSignal, type Rules } from './options.ts';
import { collectMessages, type PendingMessage } from './outbox.ts';
import { mustBeWhole } from './parts.ts';
import type { Stored } from './ports.ts';
import { type BlockedWhy, type RecordId, type RecordToWrite, SCHEMA, type Whole } from './record.ts';
import { type RunResult, replayOf } from './replay.ts';
import { isRetention, type Retention, retentionOf } from './retention.ts';
import type { Run } from './run.ts';
import { type Seal, sealed } from './seal.ts';
import { realSystem } from './system.ts';

/** What `runInTransaction` takes on every store. */
export interface InTransactionOptions {
  /** The work, by a stable name: `orders/take`. Part of every key; never a function's or host's name, which change. */
  readonly operation: string;
  /** What makes this run "the same run again". */
  readonly key: Key;
  /** On whose behalf: tenant, user, API key. Two scopes never see each other's records. */
  readonly scope?: Key;
  /** Hashed once, before the work: the same key with another input is refused. */
  readonly input?: unknown;
  /** Instead of `input`: a fingerprint of your own. */
  readonly fingerprint?: string;
  /** How long the outcome is remembered, ms. Default 86,400,000 (24 h). */
  readonly retentionMs?: number | Pick<Retention, 'completed' | 'error'>;
  /** What to do about an attempt of `runOnce` under the same key that ended with no outcome: `retry` (default) or `block`. In a transaction there is no such end. */
  readonly onUnknown?: 'retry' | 'block';
  /** Beyond this many attempts of `runOnce` under the same key the record is blocked. Default 100. */
  readonly maxAttempts?: number;
  /**
   * What a throw means: `release`, all is rolled back and may run again; `remember`, what the work wrote is rolled back, the error is committed and
   * replayed. Default (and for undefined): a `PermanentError` is remembered. The caller gets the very thing that was thrown in any case.
   */
  readonly onThrow?: (error: unknown) => 'release' | 'remember' | undefined;
  /** The key as people see it in the record. Default true; `false` keeps it out; a string replaces it. */
  readonly label?: boolean | string;
  /** Seals the outcome before it is stored, see `aesSeal`. */
  readonly seal?: Seal;
  /** Cancels waiting and further tries, and is the run's signal. */
  readonly signal?: AbortSignal;
}

export const IN_TRANSACTION_RULES: Rules = {
  operation: isName(128),
  key: anything,
  scope: anything,
  input: anything,
  fingerprint: isName(1_000),
  retentionMs: isRetention,
  onUnknown: isOneOf('retry', 'block'),
  maxAttempts: isInteger(1),
  onThrow: isFunction,
  label: either(isBoolean, isName(200)),
  seal: (value) =>
    typeof value === 'object' && value !== null && 'close' in value && 'open' in value ? undefined : 'must be an object with close, open',
  signal: isSignal,
};

/** Everything about one call that is taken once, before the work. */
export interface TransactionCall extends Omit<InTransactionOptions, 'key' | 'scope' | 'input' | 'label'> {
  readonly id: RecordId;
  readonly store: string;
  readonly scope: string;
  readonly label: string | undefined;
  readonly retention: Required<Retention>;
}

/** @throws RerunSafeError `MISSING_KEY`, `MISSING_SCOPE`, `INVALID_OPTIONS`. `options` are checked already, by {@link IN_TRANSACTION_RULES}. */
export function transactionCall(options: InTransactionOptions, store: string): TransactionCall {
  const { operation, label = true, input } = options;
  const key = keyParts(options.key, operation);
  const scope = scopeParts(options.scope, operation);
  const own = options.fingerprint === undefined ? undefined : ownFingerprint(options.fingerprint);
  const fingerprint = own ?? (input === undefined ? undefined : fingerprintOf(input));
  return {
    operation,
    id: recordId(operation, scope, key),
    store,
    scope: scopeHash(scope),
    label: label === true ? labelOf(key) : label === false ? undefined : label,
    retention: retentionOf(options.retentionMs ?? DEFAULT_RETENTION_MS),
    ...given({ fingerprint, ...pick(options) }),
  };
}

const pick = ({ onUnknown, maxAttempts, onThrow, seal, signal }: InTransactionOptions) => ({ onUnknown, maxAttempts, onThrow, seal, signal });
type Given<O> = { [K in keyof O]?: Exclude<O[K], undefined> };
const given = <O extends object>(o: O): Given<O> => Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined)) as Given<O>;

export type Begin<T> =
  /** Write this record over what stands there (undefined: only when absent), then do the work. */
  | { readonly kind: 'begin'; readonly record: RecordToWrite; readonly over: Stored | undefined; readonly afterUnknown: boolean }
  /** Write this record and commit it, then give the answer. */
  | { readonly kind: 'block'; readonly record: RecordToWrite; readonly over: Stored; readonly answer: RunResult<T> }
  | { readonly kind: 'answer'; readonly event: RunEventName; readonly answer: RunResult<T> };

/**
 * What a new caller does about the record that stands there.
 *
 * @throws RerunSafeError `RESULT_NOT_STORED`, `STORE_MISCONFIGURED`: there is an outcome, and it cannot be handed out.
 */
export function beginInTransaction<T>(standing: Stored | undefined, call: TransactionCall, facts: ClockFacts): Begin<T> {
  const { fingerprint, onUnknown = 'retry', maxAttempts = 100, id } = call;
  const decision = decide(standing, { kind: 'begin', owners: new Set(), fingerprint, onUnknown, maxAttempts }, facts);
  switch (decision.kind) {
    case 'claim': {
      const { over, attempt, token, steps, afterUnknown } = decision;
      const earlier = attempt > 1 ? over?.record : undefined;
      const record = newRecord(call, token, attempt, earlier?.createdAtMs ?? facts.nowMs);
      return { kind: 'begin', record: { ...record, ...given({ fingerprint: fingerprint ?? earlier?.fingerprint, steps }) }, over, afterUnknown };
    }
    case 'block': {
      const { over, token, why } = decision;
      const record: RecordToWrite = {
        ...over.record,
        state: 'blocked',
        blockedWhy: why,
        retentionMs: call.retention.completed,
        ...freshNonces(),
        token,
      };
      return { kind: 'block', record, over, answer: blocked(id, why, over.record.attempt) };
    }
    case 'replay':
      return { kind: 'answer', event: 'replayed', answer: replayOf(guardOf<T>(call), id, mustBeWhole(decision.outcome), decision.attempt) };
    case 'blocked':
      return { kind: 'answer', event: 'blocked', answer: blocked(id, decision.why, decision.attempt) };
    case 'ours':
      throw new Error('a transaction has no owners of earlier tries');
    default:
      return { kind: 'answer', event: decision.kind, answer: decision };
  }
}

const freshNonces = () => ({ owner: realSystem.nonce(), revision: realSystem.nonce() });
const blocked = (id: RecordId, why: BlockedWhy, attempt: number): RunResult<never> => ({ kind: 'blocked', id, why, attempt });

/** What {@link replayOf} and `unwrap` need of a guard. */
export const guardOf = <T>({ operation, seal }: Pick<TransactionCall, 'operation' | 'seal'>): Guard<T> => ({ operation, seal }) as Guard<T>;

/** Nobody else ever sees it, unless the work ends the transaction behind our back: then nobody can say what it did, and a person has to. */
const newRecord = (call: TransactionCall, token: number, attempt: number, createdAtMs: number): RecordToWrite => ({
  schema: SCHEMA,
  operation: call.operation,
  scope: call.scope,
  state: 'blocked',
  blockedWhy: 'unknown',
  ...freshNonces(),
  token,
  attempt,
  leaseMs: 0,
  retentionMs: call.retention.completed,
  createdAtMs,
  holder: `process ${process.pid}`,
  ...given({ label: call.label }),
});

/** The run that the work is handed, and the messages it adds to its outbox until it is over. */
export interface TransactionRun<T> {
  readonly run: Run<T>;
  readonly messages: readonly PendingMessage[];
  /** The work has settled: what it goes on to add would not leave with it. */
  end(): void;
}

export function transactionRun<T>(call: TransactionCall, { token, owner, attempt }: RecordToWrite): TransactionRun<T> {
  const { id, operation, signal } = call;
  let over = false;
  const outbox = collectMessages(id, () => {
    if (over) throw invalidOptions('outbox.add', ['the run is over']);
  });
  const unguarded = unguardedRun<T>({ operation, id, signal, remainingMs: () => (over ? 0 : Number.POSITIVE_INFINITY) });
  const refuse = (what: string, instead: string) => async (): Promise<never> => {
    throw invalidOptions(operation, [`${what} has no place in a transaction: ${instead}`]);
  };
  const run: Run<T> = {
    ...unguarded,
    attempt,
    token,
    fence: { id, owner, token },
    outbox,
    // A value that is kept only if all the rest is kept would not be kept where it matters.
    step: refuse('run.step', 'use runOnce, or do the work without a step'),
    commit: refuse('run.commit', 'what the work returns is committed with what it wrote'),
  };
  return {
    run,
    messages: outbox.pending,
    end() {
      over = true;
    },
  };
}

export type WorkEnd<T> = { readonly value: T } | { readonly thrown: unknown };

export type Ending<T> =
  /** Roll everything back and throw this, untouched. */
  | { readonly kind: 'roll-back'; readonly thrown: unknown }
  | {
      readonly kind: 'write';
      /** False: roll back what the work wrote first, then write the record. */
      readonly keepsWork: boolean;
      /** To be written over the record as it was begun, and committed. */
      readonly record: RecordToWrite;
      /** Instead, where the store refuses that for its size. */
      readonly smaller: RecordToWrite;
      /** What to say, and to answer, once it is committed. */
      readonly answer: RunResult<T>;
      readonly tell: Pick<RunEvent, 'event' | 'error' | 'notKept' | 'notKeptAt'>;
    };

/** What becomes of a record that was begun, now that the work has settled. */
export function endingOf<T>(call: TransactionCall, begun: RecordToWrite, end: WorkEnd<T>): Ending<T> {
  const { blockedWhy: _, steps: __, ...rest } = begun;
  const revision = realSystem.nonce();
  const record = (outcome: Whole): RecordToWrite => ({ ...rest, state: 'completed', revision, outcome: sealed(outcome, call.seal, call.id) });
  if ('thrown' in end) {
    const { thrown } = end;
    if (!isRemembered(call, thrown)) return { kind: 'roll-back', thrown };
    const answer: RunResult<T> = { kind: 'failed', error: thrown, replayed: false };
    const retentionMs = call.retention.error;
    const [whole, smaller] = [false, true].map((bare) => ({ ...record(errorOutcome(thrown, bare)), retentionMs })) as [RecordToWrite, RecordToWrite];
    return { kind: 'write', keepsWork: false, record: whole, smaller, answer, tell: { event: 'remembered', error: thrown } };
  }
  const whole = record(outcomeOf(end.value));
  const notKept = whole.outcome?.kind === 'not-stored' ? whole.outcome.reason : undefined;
  return {
    kind: 'write',
    keepsWork: true,
    record: whole,
    smaller: record({ kind: 'not-stored', reason: 'too-large' }),
    answer: { kind: 'completed', value: end.value, replayed: false, saved: true, attempt: begun.attempt },
    tell: { event: 'completed', ...(notKept === undefined ? {} : { notKept, ...notKeptAt(notKept, end.value) }) },
  };
}

/** A judge that fails, or says anything else, has said nothing: then everything is rolled back, and nothing has happened. */
function isRemembered({ onThrow }: TransactionCall, thrown: unknown): boolean {
  try {
    const verdict = onThrow?.(thrown);
    return verdict === 'remember' || (verdict === undefined && isPermanentError(thrown));
  } catch {
    return false;
  }
}

export const tellTransaction = ({ operation, id, store }: TransactionCall, event: Omit<RunEvent, 'operation' | 'id' | 'store'>): void =>
  tellRun({ operation, id, store, ...event });

/** One call, from before its first look until the caller has its answer, for those who observe it. */
export const observedTransaction = <T>({ operation, id, store, label }: TransactionCall, call: () => Promise<RunResult<T>>): Promise<RunResult<T>> =>
  isObserved() ? observed({ kind: 'run', operation, id, store, label }, call) : call();
