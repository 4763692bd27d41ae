/**
 * How a wrapped handler presents itself to a platform.
 *
 * @module
 */
import { invalidOptions } from '../core/options.ts';

// biome-ignore lint/suspicious/noExplicitAny: any handler; nothing is read from its parameters.
type Handler = (...parameters: any[]) => unknown;

/**
 * Gives `wrapper` the name of `handler`, and exactly two declared parameters: platforms look at both (newer Lambda runtimes refuse three, traces
 * and logs show the name).
 */
export function named<W extends Handler>(handler: Handler, wrapper: W): W {
  if (typeof handler !== 'function') throw invalidOptions('the wrapped handler', ['it must be a function']);
  Object.defineProperty(wrapper, 'name', { value: handler.name, configurable: true });
  Object.defineProperty(wrapper, 'length', { value: 2, configurable: true });
  return wrapper;
}
