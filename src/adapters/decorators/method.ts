/**
 * What the decorators of this folder have in common: they stand on methods, and answer with a promise.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';

export type Method<This, Args extends unknown[], R> = (this: This, ...args: Args) => R;
export type MethodDecorator<This, Args extends unknown[], T> = (
  method: Method<This, Args, Promise<T>>,
  context: ClassMethodDecoratorContext<This, Method<This, Args, Promise<T>>>,
) => Method<This, Args, Promise<T>>;

/** Something that is there from the start, or that the object brings along. */
export type FromObject<This, V> = V | ((self: This) => V);

/** @throws RerunSafeError `INVALID_OPTIONS` on anything but a method, and for a compiler that uses the decorators of before the standard. */
export function mustBeMethod(what: string, method: unknown, context: unknown): void {
  const kind = (context as { kind?: unknown } | undefined)?.kind;
  if (typeof method === 'function' && kind === 'method') return;
  throw invalidOptions(what, [
    kind === undefined
      ? 'it was called by the decorators of before the standard: compile without experimentalDecorators'
      : `it stands on a ${String(kind)}, and can only stand on a method`,
  ]);
}
