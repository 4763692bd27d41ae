/**
 * A method that is a step of the run that it is called in.
 *
 * @module
 */
import type { Key } from '../../core/key.ts';
import { checkOptions, invalidOptions, isFunction, isName, isOneOf } from '../../core/options.ts';
import { currentRun, type StepOptions } from '../../core/run.ts';
import { type MethodDecorator, mustBeMethod } from './method.ts';

export interface StepMethodOptions<Args extends unknown[], T> extends Pick<StepOptions<T>, 'mode' | 'onInterrupted'> {
  /** In a loop: what tells the rounds apart; gets the arguments. */
  readonly key?: (...args: Args) => Key;
  /** Hashed and kept with the step: another input under the same name (and key) in a later attempt is `STEP_CHANGED`. */
  readonly input?: (...args: Args) => unknown;
}

const RULES = { name: isName(200), key: isFunction, input: isFunction, mode: isOneOf('atLeastOnce', 'atMostOnce'), onInterrupted: isFunction };

/**
 * As `run.step(name, …)`, of the run that is found by `currentRun()`.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`, when the class is defined, and for a call outside of a run: then nothing is called.
 * @example
 * class Payments {
 *   @step('mail', { key: (receipt: Receipt) => receipt.id })
 *   async mail(receipt: Receipt): Promise<void> { … }
 * }
 */
export function step<This, Args extends unknown[], T>(name: string, options: StepMethodOptions<Args, T> = {}): MethodDecorator<This, Args, T> {
  checkOptions('@step', { ...options, name }, RULES, ['name']);
  const { key, input, ...rest } = options;
  return (method, context) => {
    mustBeMethod(`@step "${name}"`, method, context);
    return async function (this: This, ...args: Args): Promise<T> {
      const run = currentRun();
      if (run === undefined) throw invalidOptions(`@step "${name}"`, ['it was called outside of a run: nothing would be kept']);
      return run.step<T>(name, () => method.apply(this, args), {
        ...rest,
        ...(key === undefined ? {} : { key: key(...args) }),
        ...(input === undefined ? {} : { input: input(...args) }),
      });
    };
  };
}
