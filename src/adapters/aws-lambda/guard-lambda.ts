/**
 * What the guarded wrappers of this adapter share: their options, and one guarded call within an invocation.
 *
 * @module
 */
import type { Context } from 'aws-lambda';
import { writeUnknown } from '../../core/errors.ts';
import { type Call, type Guard, type GuardOptions, guardFrom } from '../../core/guard.ts';
import type { Key } from '../../core/key.ts';
import { anything, checkOptions, isFunction, type Rules } from '../../core/options.ts';
import { type RunResult, runGuarded, type Work } from '../../core/run-once.ts';
import { unlessAborted } from '../../core/system.ts';
import { keyed } from '../keyed.ts';
import { type Invocation, LAMBDA_RULES, type LambdaGuardOptions } from './invocation.ts';
import { isMiddyTimeout } from './middy/request.ts';

type Answer<V> = V | undefined | null | Promise<V | undefined | null>;

export interface KeyedOptions<I, T> extends LambdaGuardOptions<T> {
  /**
   * What makes two runs "the same run again": the business id, not the transport's (a producer that sends again makes a new message id). undefined,
   * null and '' are `MISSING_KEY`.
   */
  readonly key: (input: I, context: Context) => Answer<Key>;
  /** On whose behalf. A function that answers undefined, null or '' is `MISSING_SCOPE`, never shared. Default: no scope. */
  readonly scope?: Key | ((input: I, context: Context) => Answer<Key>);
  /** What is hashed: the same key with another input is refused with `KEY_REUSED`. Default: nothing, the key alone decides. */
  readonly input?: (input: I, context: Context) => unknown;
}

export const KEYED_RULES: Rules = { key: isFunction, scope: anything, input: isFunction };

/** The options of a wrapper, checked once; `guard` is what core needs of them. */
export interface Keyed<I, T> {
  readonly options: KeyedOptions<I, T>;
  readonly guard: Guard<T>;
}

/** @throws RerunSafeError `INVALID_OPTIONS` with everything that is wrong. */
export function keyedFrom<I, T>(what: string, options: KeyedOptions<I, T>, retentionMs?: number, own: Rules = {}): Keyed<I, T> {
  checkOptions(what, options, { ...LAMBDA_RULES, ...KEYED_RULES, ...own }, ['store', 'operation', 'key']);
  const guard: Partial<KeyedOptions<I, T>> = { ...options };
  for (const name of [...Object.keys({ ...KEYED_RULES, ...own }), 'deadlineMarginMs']) delete (guard as Record<string, unknown>)[name];
  return { options, guard: guardFrom<T>(what, withDefaults(guard as LambdaGuardOptions<T>, retentionMs === undefined ? {} : { retentionMs })) };
}

/**
 * The options of a guard as they are in Lambda. No renewal; and where middy's early time-out ends a handler that middy has made, the work is still
 * running behind it. An option that is given as undefined is not given.
 */
export function withDefaults<O extends Pick<GuardOptions, 'onThrow'>>(options: O, defaults: { readonly retentionMs?: number } = {}): O {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const { onThrow } = options;
  const judged: GuardOptions['onThrow'] = (error) => (isMiddyTimeout(error) ? 'lapse' : onThrow?.(error));
  return { renew: 'none', ...defaults, ...given, onThrow: judged } as unknown as O;
}

/** What one call adds. Key, scope and input are taken here, before the work; a function that hangs must not take the answer with it. */
export async function callFrom<I, T>(
  { options }: Keyed<I, T>,
  input: I,
  context: Context,
  invocation: Invocation,
  signal = invocation.signal,
): Promise<Call> {
  const taken = await unlessAborted(keyed(options.operation, options, input, context), signal);
  return { ...taken, ...timesOf(options, invocation) };
}

/**
 * Runs the work, or says in the package's own words that the invocation was over before it had begun: a plain time-out could be the handler's.
 *
 * @throws RerunSafeError as `runGuarded`.
 */
export async function runInTime<T>(guard: Guard<T>, call: Call, { signal }: Invocation, work: Work<T>): Promise<RunResult<T>> {
  let began = false;
  try {
    return await runGuarded(guard, call, (run) => {
      began = true;
      return work(run);
    });
  } catch (error) {
    if (began || error !== signal.reason) throw error;
    throw writeUnknown(
      `the time of the invocation was over before ${guard.operation} could be claimed from ${guard.store.name}; nothing was run`,
      error,
    );
  }
}

export const timesOf = (
  options: { readonly leaseMs?: number | undefined },
  invocation: Invocation,
): Pick<Call, 'holder' | 'leaseMs' | 'remainingMs' | 'signal'> => ({
  holder: invocation.holder,
  leaseMs: options.leaseMs === undefined ? invocation.leaseMs() : undefined,
  remainingMs: () => invocation.remainingMs(),
  signal: invocation.signal,
});
