/**
 * Works through a batch, as much at once as its order allows.
 *
 * @module
 */
import type { ItemFailure } from '../../items-failed.ts';

interface Ordered {
  /** What shares it goes one after another; after a failure the rest is not tried. */
  readonly lane?: string | undefined;
  /** What shares it goes one after another, whatever becomes of it: two at once would only meet as "in flight". */
  readonly key?: string | undefined;
}

export interface RunOptions<I> {
  readonly concurrency: number;
  /** Asked before each item; false ends the batch. */
  readonly mayBegin: () => boolean;
  /** Never rejects. */
  readonly begin: (item: I) => Promise<{ readonly error: unknown } | undefined>;
}

export interface Ran {
  readonly failures: readonly ItemFailure[];
  /** By their place in the batch. */
  readonly untried: readonly number[];
}

/** Resolves when nothing is running any more: work that goes on after the answer would wake up in a later invocation. */
export async function runItems<I extends Ordered>(items: readonly I[], { concurrency, mayBegin, begin }: RunOptions<I>): Promise<Ran> {
  const { followers, waitsFor } = dependencies(items);
  // An item waits only for earlier ones, so the first that is not settled is always ready or running: nothing can lock up.
  const ready = [...items.keys()].filter((index) => waitsFor[index] === 0);
  const begun = new Set<number>();
  const failures: ItemFailure[] = [];
  const stopped = new Set<string>();

  const settle = (index: number): void => {
    for (const follower of followers[index] ?? []) {
      waitsFor[follower] = (waitsFor[follower] ?? 0) - 1;
      if (waitsFor[follower] === 0) insert(ready, follower);
    }
  };
  const next = (): number | undefined => {
    while (ready.length > 0 && mayBegin()) {
      const index = ready.shift() as number;
      const lane = items[index]?.lane;
      if (lane === undefined || !stopped.has(lane)) return index;
      settle(index);
    }
    return undefined;
  };
  const run = async (index: number): Promise<void> => {
    begun.add(index);
    const item = items[index] as I;
    const failed = await begin(item);
    if (failed !== undefined) {
      failures.push({ index, error: failed.error });
      if (item.lane !== undefined) stopped.add(item.lane);
    }
    settle(index);
  };

  await new Promise<void>((resolve, reject) => {
    let running = 0;
    const fill = (): void => {
      while (running < concurrency) {
        const index = next();
        if (index === undefined) break;
        running += 1;
        run(index).then(ended).catch(reject);
      }
      if (running === 0) resolve();
    };
    const ended = (): void => {
      running -= 1;
      fill();
    };
    fill();
  });
  return { failures, untried: [...items.keys()].filter((index) => !begun.has(index)) };
}

function dependencies(items: readonly Ordered[]): { readonly followers: readonly number[][]; readonly waitsFor: number[] } {
  const followers: number[][] = items.map(() => []);
  const waitsFor = items.map(() => 0);
  for (const shared of ['lane', 'key'] as const) {
    const last = new Map<string, number>();
    for (const [index, item] of items.entries()) {
      const name = item[shared];
      if (name === undefined) continue;
      const before = last.get(name);
      if (before !== undefined) {
        followers[before]?.push(index);
        waitsFor[index] = (waitsFor[index] ?? 0) + 1;
      }
      last.set(name, index);
    }
  }
  return { followers, waitsFor };
}

/** Keeps the order of the batch. */
function insert(ready: number[], index: number): void {
  const at = ready.findIndex((other) => other > index);
  ready.splice(at === -1 ? ready.length : at, 0, index);
}
