/**
 * Works through lanes side by side, each lane in order.
 *
 * @module
 */
import type { Item } from './sqs-items.ts';

export interface LaneOptions {
  /** How many lanes are worked on at once. */
  readonly concurrency: number;
  /** Asked before each item; false ends the batch. */
  readonly mayBegin: () => boolean;
  /** Never rejects. */
  readonly begin: (item: Item) => Promise<'done' | 'failed'>;
}

export interface Undone {
  /** Failed or never begun, in the order of the batch. */
  readonly items: readonly Item[];
  /** How many of them were never begun. */
  readonly untried: number;
}

/** Resolves when nothing is running any more: work that goes on after the answer would wake up in a later invocation. */
export async function runLanes(items: readonly Item[], { concurrency, mayBegin, begin }: LaneOptions): Promise<Undone> {
  const lanes = new Map<string, Item[]>();
  for (const item of items) lanes.set(item.lane, [...(lanes.get(item.lane) ?? []), item]);
  const done = new Set<Item>();
  let tried = 0;

  const runLane = async (lane: readonly Item[]): Promise<void> => {
    for (const item of lane) {
      if (!mayBegin()) return;
      tried += 1;
      if ((await begin(item)) === 'done') done.add(item);
      else if (item.ordered) return;
    }
  };
  const waiting = [...lanes.values()].values();
  // One iterator for all: each worker takes the next lane that nobody has.
  const worker = async (): Promise<void> => {
    for (const lane of waiting) await runLane(lane);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, lanes.size) }, worker));
  return { items: items.filter((item) => !done.has(item)), untried: items.length - tried };
}
