/** What is due, the earliest first; a binary heap, since every request of every seed passes through it. */
export interface Due {
  dueMs: number;
  /** Decides among what is due at once. */
  readonly tie: number;
  cancelled: boolean;
}

const isBefore = (a: Due, b: Due): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.tie < b.tie);

export class Queue<D extends Due> {
  #heap: D[] = [];

  push(due: D): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as D;
      if (!isBefore(due, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = due;
  }

  /** Without what was cancelled. */
  first(): D | undefined {
    while (this.#heap[0]?.cancelled === true) this.#pop();
    return this.#heap[0];
  }

  pop(): D | undefined {
    const first = this.first();
    if (first !== undefined) this.#pop();
    return first;
  }

  /** Moves what `choose` says by `ms`. */
  postpone(choose: (due: D) => boolean, ms: number): void {
    const all = this.#heap.filter(({ cancelled }) => !cancelled);
    this.#heap = [];
    for (const due of all) {
      if (choose(due)) due.dueMs += ms;
      this.push(due);
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as D;
    const { length } = heap;
    if (length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= length) break;
      if (down + 1 < length && isBefore(heap[down + 1] as D, heap[down] as D)) down += 1;
      const child = heap[down] as D;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
  }
}
