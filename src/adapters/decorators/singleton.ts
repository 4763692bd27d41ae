/**
 * A method that one holder of a name runs at a time.
 *
 * @module
 */
import type { NotAcquired } from '../../core/lease.ts';
import { checkOptions, either, isFunction, type Rule } from '../../core/options.ts';
import type { LeaseProvider } from '../../core/ports.ts';
import { checkSingleton, runSingleton, SINGLETON_RULES, type SingletonOptions, type Slot, slotFrom } from '../singleton.ts';
import { type FromObject, type MethodDecorator, mustBeMethod } from './method.ts';

export interface SingletonMethodOptions<This, Args extends unknown[]>
  extends Pick<SingletonOptions<never, never>, 'name' | 'leaseMs' | 'renew' | 'minHoldMs' | 'onHeld' | 'onPassed'> {
  /** Where the lease is kept; or where the object has it. */
  readonly leases: FromObject<This, LeaseProvider>;
  /** The scheduled moment a call stands for; a slot that is done is not run again. Default: only overlap is prevented. */
  readonly slot?: (...args: Args) => Slot;
  /** Told of every call that was skipped, and why. */
  readonly onSkipped?: (skipped: NotAcquired, ...args: Args) => unknown;
}

/**
 * Runs the method under a lease, or not at all: a call that is skipped answers `undefined`, and `onSkipped` is told why. So the method says that it may.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` when the class is defined; a call: `LEASE_HELD` where `onHeld` is `throw`, the provider's failures, and what the
 * method throws, untouched.
 * @example
 * class Reports {
 *   @singleton({ leases: (self: Reports) => self.leases, name: 'reports/nightly' })
 *   async nightly(): Promise<Report | undefined> { … }
 * }
 */
export function singleton<This, Args extends unknown[], T>(options: SingletonMethodOptions<This, Args>): MethodDecorator<This, Args, T | undefined> {
  const { leases, slot, onSkipped, ...rest } = options;
  const optionsWith = (found: LeaseProvider): SingletonOptions<never, never> => {
    checkSingleton({ ...rest, leases: found });
    return { ...rest, leases: found };
  };
  const lazily = either(isFunction, SINGLETON_RULES.leases as Rule);
  checkOptions('@singleton', options, { ...SINGLETON_RULES, leases: lazily, slot: isFunction }, ['leases', 'name']);
  const ready = typeof leases === 'function' ? undefined : optionsWith(leases);
  return (method, context) => {
    mustBeMethod(`@singleton ${options.name}`, method, context);
    return async function (this: This, ...args: Args): Promise<T | undefined> {
      const found = ready ?? optionsWith((leases as (self: This) => LeaseProvider)(this));
      const result = await runSingleton(found, { slot: slotFrom(slot?.(...args)) }, () => method.apply(this, args));
      if (result.kind === 'done') return result.value;
      onSkipped?.(result, ...args);
      return undefined;
    };
  };
}
