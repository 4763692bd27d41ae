/**
 * What a user chooses once for an operation, checked and with its defaults; and what each call adds.
 *
 * @module
 */

import type { Key } from './key.ts';
import { LOCAL_REPLAY_RULES, type LocalReplay } from './local-replay.ts';
import {
  anything,
  checkOptions,
  either,
  has,
  invalidOptions,
  isBoolean,
  isFunction,
  isInteger,
  isName,
  isObject,
  isOneOf,
  isShape,
  isSignal,
  type Rules,
} from './options.ts';
import type { RecordStore } from './ports.ts';
import { isRetention, type Retention, retentionOf } from './retention.ts';
import type { Run } from './run.ts';
import type { Seal } from './seal.ts';
import { VALUE_RULES, type ValueForms } from './value-forms.ts';

/**
 * What a throw of the work means. `release`: failed, may run again. `remember`: it is the outcome. `unknown`: nobody can say what it did.
 * `withdraw`: nothing was begun, so the key may be used again with another input; only of a first attempt without steps, else it is a `release`.
 * `lapse`: the work may still be going on behind the error (a time-out that was raced against it), so nothing is written, and the lease has to run out.
 * `block`: failed, and must not run again until a person says so (`resolveRun`, `forgetRun`).
 */
export type ThrowVerdict = 'release' | 'remember' | 'unknown' | 'withdraw' | 'lapse' | 'block';

/** A verdict, and a note for those who look at the record later: how the attempt ended. Kept as it is, never sealed; at most 1000 characters. */
export interface NotedVerdict {
  readonly as: ThrowVerdict;
  readonly note: string;
}

const VERDICTS: ReadonlySet<unknown> = new Set<ThrowVerdict>(['release', 'remember', 'unknown', 'withdraw', 'lapse', 'block']);
const MOST_NOTE = 1_000;

/** What `onThrow` answered, read once. undefined: nothing that anybody could act on. */
export function verdictOf(answer: unknown): { readonly as: ThrowVerdict; readonly note?: string } | undefined {
  if (VERDICTS.has(answer)) return { as: answer as ThrowVerdict };
  const { as, note } = (answer ?? {}) as Partial<NotedVerdict>;
  if (!VERDICTS.has(as)) return undefined;
  return { as: as as ThrowVerdict, ...(typeof note === 'string' && note !== '' ? { note: note.slice(0, MOST_NOTE) } : {}) };
}

/** What asking the far side brought to light. */
export type UnknownAnswer<T> = { readonly done: T } | 'not-done' | 'block';

export interface GuardOptions<T = unknown> {
  /** Where records are kept. */
  readonly store: RecordStore;
  /** The work, by a stable name: `payments/charge`. Part of every key; never a function's or host's name, which change. */
  readonly operation: string;
  /**
   * How long an attempt holds its record without renewing, ms. Default 60,000 (in Lambda: the remaining time + 1 s). At least 100.
   * After a crash the key is free again after this long.
   */
  readonly leaseMs?: number;
  /** `auto` (default): renewed every third of the lease while the work runs. `none`: the lease is all there is. */
  readonly renew?: 'auto' | 'none';
  /** How long a finished record is remembered, ms, or how long for each way it can end. Default 86,400,000 (24 h), queues 7 d. Longer than the lease. */
  readonly retentionMs?: number | Retention;
  /** A duplicate while the first still runs: `refuse` (default) with `IN_FLIGHT`, or wait up to `waitMs` for its outcome. */
  readonly onInFlight?: 'refuse' | { readonly waitMs: number };
  /**
   * An earlier attempt ended with no outcome (crash, lost lease): `retry` (default) runs again, `block` refuses until a person resolves it, a
   * function is asked first, under the new lease. Asking is safe only where the far side refuses what may still be on its way, by the derived
   * key (`run.keyFor`) or the fence. If the function throws, the record stays lapsed and the error goes to the caller.
   */
  readonly onUnknown?: 'retry' | 'block' | ((run: Run) => UnknownAnswer<T> | Promise<UnknownAnswer<T>>);
  /**
   * What a throw means. Default: a `PermanentError` is remembered, anything else released; but where `onUnknown` is not `retry`, anything else is
   * unknown unless it is a `NotDoneError`. undefined = the default. The caller gets the very thing that was thrown in any case.
   */
  readonly onThrow?: (error: unknown) => ThrowVerdict | NotedVerdict | undefined;
  /** The work succeeded, its outcome could not be saved: `return` (default) the value with `saved: false`, or `throw`. */
  readonly onSaveFailed?: 'return' | 'throw';
  /** Beyond this many attempts the record is blocked. Default 100. */
  readonly maxAttempts?: number;
  /** The store does not answer the claim: `refuse` (default) with `STORE_UNAVAILABLE`, or `run` the work unguarded. */
  readonly onStoreDown?: 'refuse' | 'run';
  /** Answers replays of what this process has seen without asking the store. Default: always asked. */
  readonly localReplay?: LocalReplay;
  /** The key as people see it in the record. Default true; `false` keeps it out; a string replaces it. */
  readonly label?: boolean | string;
  /** Seals outcomes and steps before they are stored, see `aesSeal`. What was stored before stays readable. */
  readonly seal?: Seal;
  /** Time left to the whole invocation, ms: bounds waits and `run.remainingMs()`. Given by the adapters. */
  readonly remainingMs?: () => number;
  /** Cancels waiting, and aborts the run's signal. */
  readonly signal?: AbortSignal;
}

export interface RunOnceOptions<T = unknown> extends GuardOptions<T>, ValueForms<T> {
  /** What makes this run "the same run again". */
  readonly key: Key;
  /** On whose behalf: tenant, user, API key. Two scopes never see each other's records. */
  readonly scope?: Key;
  /** Hashed once, before the work: the same key with another input is refused. */
  readonly input?: unknown;
  /** Instead of `input`: a fingerprint of your own. */
  readonly fingerprint?: string;
}

export const DEFAULT_LEASE_MS = 60_000;
export const DEFAULT_RETENTION_MS = 86_400_000;
export const MIN_LEASE_MS = 100;
/** setTimeout ends at once beyond this. */
export const MAX_WAIT_MS = 2_147_483_647;

const isWait = (value: unknown): string | undefined =>
  isObject(value) ?? ('waitMs' in (value as object) ? isInteger(0, MAX_WAIT_MS)((value as { waitMs: unknown }).waitMs) : 'needs waitMs');

const isLocalReplay = isShape(LOCAL_REPLAY_RULES, ['maxEntries'], 'must be { maxEntries, maxAgeMs }, whole numbers above 0, maxEntries always');

/** The rules of {@link GuardOptions}; adapters add their own. */
export const GUARD_RULES: Rules = {
  store: has('read', 'create', 'replace', 'delete', 'list', 'purge'),
  operation: isName(128),
  leaseMs: isInteger(MIN_LEASE_MS, MAX_WAIT_MS),
  renew: isOneOf('auto', 'none'),
  retentionMs: isRetention,
  onInFlight: either(isOneOf('refuse'), isWait),
  onUnknown: either(isOneOf('retry', 'block'), isFunction),
  onThrow: isFunction,
  onSaveFailed: isOneOf('return', 'throw'),
  maxAttempts: isInteger(1),
  onStoreDown: isOneOf('refuse', 'run'),
  localReplay: isLocalReplay,
  label: either(isBoolean, isName(200)),
  seal: has('close', 'open'),
  remainingMs: isFunction,
  signal: isSignal,
};

const CALL_RULES: Rules = { ...GUARD_RULES, ...VALUE_RULES, key: anything, scope: anything, input: anything, fingerprint: isName(1_000) };

/** Checked options with their defaults. */
export interface Guard<T = unknown> extends GuardOptions<T> {
  readonly leaseMs: number;
  readonly renew: 'auto' | 'none';
  /** Of a value. */
  readonly retentionMs: number;
  readonly retention: Required<Retention>;
  readonly waitMs: number;
  readonly onUnknown: NonNullable<GuardOptions<T>['onUnknown']>;
  readonly onSaveFailed: 'return' | 'throw';
  readonly maxAttempts: number;
  readonly onStoreDown: 'refuse' | 'run';
  readonly label: boolean | string;
}

/** Of those whose values are handed to callers as they are. */
export type FormedGuard<T> = Guard<T> & ValueForms<T>;

/** What one call adds to its guard. */
export interface Call {
  readonly key: unknown;
  readonly scope?: unknown;
  readonly input?: unknown;
  /** Instead of `input`: what {@link fingerprintOf} made of it. */
  readonly inputFingerprint?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** Who runs it, for people only. */
  readonly holder?: string | undefined;
  readonly leaseMs?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly remainingMs?: (() => number) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks the options of a wrapper, once. `rules` and `required`: the wrapper's own options beside {@link GUARD_RULES}.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` with everything that is wrong.
 */
export function guardFrom<T>(what: string, options: GuardOptions<T>, rules: Rules = {}, required: readonly string[] = []): Guard<T> {
  checkOptions(what, options, { ...GUARD_RULES, ...rules }, ['store', 'operation', ...required]);
  return withDefaults(what, options);
}

function withDefaults<T>(what: string, options: GuardOptions<T>): Guard<T> {
  const leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
  const retention = retentionOf(options.retentionMs ?? Math.max(DEFAULT_RETENTION_MS, leaseMs * 2));
  const retentionMs = Math.min(...Object.values(retention));
  if (options.onUnknown === 'block' && options.store.limits?.losesOnFailover) {
    throw invalidOptions(what, [
      `onUnknown: 'block' promises that nothing starts a second time, and the store "${options.store.name}" can lose a record when another server takes over: use another store, or say that you accept the loss where the store is made`,
    ]);
  }
  if (retentionMs <= leaseMs) throw invalidOptions(what, [`retentionMs (${retentionMs}) must be longer than leaseMs (${leaseMs})`]);
  return {
    ...options,
    leaseMs,
    retentionMs: retention.completed,
    retention,
    renew: options.renew ?? 'auto',
    waitMs: typeof options.onInFlight === 'object' ? options.onInFlight.waitMs : 0,
    onUnknown: options.onUnknown ?? 'retry',
    onSaveFailed: options.onSaveFailed ?? 'return',
    maxAttempts: options.maxAttempts ?? 100,
    onStoreDown: options.onStoreDown ?? 'refuse',
    label: options.label ?? true,
  };
}

/** The options of {@link runOnce}: guard and call in one. */
export function splitOptions<T>(what: string, options: RunOnceOptions<T>): { guard: FormedGuard<T>; call: Call } {
  checkOptions(what, options, CALL_RULES, ['store', 'operation']);
  const { key, scope, input, fingerprint, ...rest } = options;
  return { guard: withDefaults<T>(what, rest), call: { key, scope, input, fingerprint } };
}
