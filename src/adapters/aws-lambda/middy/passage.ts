/**
 * One request on its way through a middleware: a wrapper's call that is cut in two, at the place where its handler would run.
 *
 * @module
 */
import { invalidOptions } from '../../../core/options.ts';

export class Passage {
  /** The run or the lease; undefined until the work may begin. */
  handed: unknown;
  over = false;
  readonly #event: unknown;
  #begin = (): void => {};
  readonly #begun = new Promise<undefined>((resolve) => {
    this.#begin = () => resolve(undefined);
  });
  #resolve: (value: unknown) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  readonly #work = new Promise<unknown>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });
  #answer: Promise<unknown> = Promise.resolve();
  #misuse: Error | undefined;

  constructor(event: unknown) {
    this.#event = event;
    // A wrapper that has ended before its work awaits it no more.
    this.#work.catch(() => {});
  }

  /** Calls the wrapper. undefined: the work may begin; else what the wrapper answered without it. */
  async start(guarded: () => Promise<unknown>): Promise<{ readonly answer: unknown } | undefined> {
    this.#answer = guarded();
    // It may fail while nobody awaits it: the middlewares after this one are at work.
    this.#answer.catch(() => {});
    const early = await Promise.race([this.#begun, this.#answer.then((answer) => ({ answer }))]);
    if (early !== undefined && this.#misuse !== undefined) throw this.#misuse;
    return early;
  }

  /** In place of the handler: settles as the work does. */
  begin(event: unknown, handed: unknown): Promise<unknown> {
    if (event !== this.#event || this.handed !== undefined) {
      this.#misuse = invalidOptions('middyMiddleware', [
        'the wrapper must call its handler once, with the event it was given: put idempotentEach around the handler',
      ]);
      throw this.#misuse;
    }
    this.handed = handed;
    this.#begin();
    return this.#work;
  }

  /** Resolves to what the wrapper answers to it. */
  returned(value: unknown): Promise<unknown> {
    this.over = true;
    this.#resolve(value);
    return this.#answer;
  }

  /** Rejects with what the wrapper throws; resolves where it has an answer all the same (the work had committed). */
  threw(error: unknown): Promise<unknown> {
    this.over = true;
    this.#reject(error);
    return this.#answer;
  }

  /** The caller is gone, and the work may still go on: nothing is said of it, so that the record lapses by its lease. */
  abandon(): void {
    this.over = true;
  }
}
