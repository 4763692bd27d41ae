/**
 * The newest of many, which come in any order, in little memory.
 *
 * @module
 */

/** Where something stands among the others: a page after it begins here. */
export interface Rank {
  readonly atMs: number;
  /** Tells two of the same moment apart. */
  readonly id: string;
}

/** Newest first. */
export const byAge = (a: Rank, b: Rank): number => b.atMs - a.atMs || (a.id < b.id ? -1 : Number(a.id > b.id));

export class Newest<T> {
  readonly #most: number;
  #kept: { readonly rank: Rank; readonly item: T }[] = [];
  /** How many there were. */
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Now and then the old ones are dropped, not each time: sorting once for as many as are kept costs little for each. */
  add(rank: Rank, item: T): void {
    this.count += 1;
    this.#kept.push({ rank, item });
    if (this.#kept.length >= this.#most * 2) this.#drop();
  }

  /** Newest first. */
  items(): T[] {
    this.#drop();
    return this.#kept.map(({ item }) => item);
  }

  /** Where the next page begins: after the last one of {@link Newest.items}. */
  last(): Rank | undefined {
    this.#drop();
    return this.#kept.at(-1)?.rank;
  }

  #drop(): void {
    this.#kept = this.#kept.sort((a, b) => byAge(a.rank, b.rank)).slice(0, this.#most);
  }
}
