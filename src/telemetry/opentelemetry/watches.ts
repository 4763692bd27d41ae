/**
 * Whose event it is: that of the call around whoever tells it. A loss may be told by somebody else (a timer, another caller's answer); then that of the
 * call which holds that token.
 *
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface Watch<E> {
  isAbout(event: E): boolean;
  /** It was told so of its own claim. */
  readonly token: number | undefined;
}

export class Watches<E extends { readonly token?: number }, W extends Watch<E>> {
  /** Its own: where nobody manages OpenTelemetry's context, all the same is measured. */
  readonly #around = new AsyncLocalStorage<W>();
  readonly #live = new Set<W>();

  /** Begins the call with `watch` around it. */
  run<R>(watch: W, call: () => R): R {
    this.#live.add(watch);
    return this.#around.run(watch, call);
  }

  ended(watch: W): void {
    this.#live.delete(watch);
  }

  of(event: E): W | undefined {
    const around = this.#around.getStore();
    if (around?.isAbout(event)) return around;
    if (event.token === undefined) return undefined;
    for (const watch of this.#live) if (watch.token === event.token && watch.isAbout(event)) return watch;
    return undefined;
  }
}
