/**
 * A method that runs once for its key.
 *
 * @module
 */
import { type FormedGuard, GUARD_RULES, type GuardOptions, guardFrom } from '../../core/guard.ts';
import type { Key } from '../../core/key.ts';
import { checkOptions, either, isFunction, type Rule, type Rules } from '../../core/options.ts';
import type { RecordStore } from '../../core/ports.ts';
import { runGuarded, unwrap } from '../../core/run-once.ts';
import { VALUE_RULES, type ValueForms } from '../../core/value-forms.ts';
import { keyed } from '../keyed.ts';
import { type FromObject, type MethodDecorator, mustBeMethod } from './method.ts';

export interface IdempotentMethodOptions<This, Args extends unknown[], T>
  extends Omit<GuardOptions<T>, 'store' | 'remainingMs' | 'signal'>,
    ValueForms<T> {
  /** Where records are kept; or where the object has it. */
  readonly store: FromObject<This, RecordStore>;
  /** What makes this call "the same call again"; gets the arguments. */
  readonly key: (...args: Args) => Key | Promise<Key>;
  /** On whose behalf. Never shared: undefined for a call is `MISSING_SCOPE`. */
  readonly scope?: (...args: Args) => Key | Promise<Key>;
  /** What is compared: the same key with another input is refused. Default: nothing is. */
  readonly input?: (...args: Args) => unknown;
}

const { remainingMs: _, signal: __, ...METHOD_RULES } = GUARD_RULES;
const RULES: Rules = { ...METHOD_RULES, ...VALUE_RULES, key: isFunction, scope: isFunction, input: isFunction };

/**
 * Runs the method once for its key, and hands everybody the same outcome. The run (`run.step`, `run.keyFor`) is found by `currentRun()`.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when the class is defined. A call throws as `runOnce` does.
 * @example
 * class Payments {
 *   @idempotent({ store, operation: 'payments/charge', key: (order: Order) => order.id, input: (order: Order) => order })
 *   async charge(order: Order): Promise<Receipt> { … }
 * }
 */
export function idempotent<This, Args extends unknown[], T>(options: IdempotentMethodOptions<This, Args, T>): MethodDecorator<This, Args, T> {
  const guardOf = guardsOf(options);
  const { operation, key, scope, input } = options;
  return (method, context) => {
    mustBeMethod(`@idempotent of ${operation}`, method, context);
    return async function (this: This, ...args: Args): Promise<T> {
      const guard = guardOf(this);
      const call = await keyed<Args>(operation, { key, scope, input }, ...args);
      return unwrap(guard, await runGuarded<T>(guard, call, () => method.apply(this, args)));
    };
  };
}

/** Checked when the class is defined, but for a store that is known only later. */
function guardsOf<This, Args extends unknown[], T>(options: IdempotentMethodOptions<This, Args, T>): (self: This) => FormedGuard<T> {
  const { store, key, scope, input, ...rest } = options;
  checkOptions('@idempotent', options, { ...RULES, store: either(isFunction, GUARD_RULES.store as Rule) }, ['store', 'operation', 'key']);
  const guardWith = (found: RecordStore): FormedGuard<T> => guardFrom<T>('@idempotent', { ...rest, store: found }, VALUE_RULES);
  if (typeof store !== 'function') {
    const guard = guardWith(store);
    return () => guard;
  }
  const guards = new WeakMap<RecordStore, FormedGuard<T>>();
  return (self) => {
    const found = store(self);
    const known = guards.get(found);
    if (known !== undefined) return known;
    const guard = guardWith(found);
    guards.set(found, guard);
    return guard;
  };
}
