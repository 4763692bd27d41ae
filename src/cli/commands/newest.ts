/**
 * The newest of many, which come in any order, in little memory.
 *
 * @module
 */
export class Newest<T> {
  readonly #most: number;
  #kept: { readonly atMs: number; readonly item: T }[] = [];
  /** How many there were. */
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Now and then the old ones are dropped, not each time: sorting once for as many as are kept costs little for each. */
  add(atMs: number, item: T): void {
    this.count += 1;
    this.#kept.push({ atMs, item });
    if (this.#kept.length >= this.#most * 2) this.#drop();
  }

  /** Newest first. */
  items(): T[] {
    this.#drop();
    return this.#kept.map(({ item }) => item);
  }

  #drop(): void {
    this.#kept = this.#kept.sort((a, b) => b.atMs - a.atMs).slice(0, this.#most);
  }
}
