/**
 * One thing at a time, in order: an owner's writes must not overtake each other.
 *
 * @module
 */
export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  run<R>(task: () => Promise<R>): Promise<R> {
    const next = this.#tail.then(task);
    this.#tail = next.catch(() => {});
    return next;
  }
}
