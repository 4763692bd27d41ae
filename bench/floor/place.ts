/**
 * A store that is measured, and the same two writes without us: a conditional create and a conditional replace of the same row, with the very columns
 * and values that the store itself has written there, by the same client.
 *
 * @module
 */
import { type RecordStore, runOnce } from 'rerunsafe';

/** What differs from one run to the next. */
export interface Row {
  readonly id: string;
  readonly owner: string;
  readonly revision: string;
}

export interface Created {
  /** To replace it by. undefined: refused. */
  readonly version?: string;
  readonly standing?: unknown;
}

export interface Writes {
  /** Only where nothing stands; else it brings what does. */
  create(row: Row): Promise<Created>;
  /** Only where that version stands. */
  complete(row: Row, over: string): Promise<void>;
}

export interface Place {
  readonly name: string;
  readonly store: RecordStore;
  /** Once. */
  writes(): Promise<Writes>;
  stop(): Promise<void>;
}

/** A record as it lies in the store, while the work runs and afterwards. */
export interface Template<R> {
  readonly running: R;
  readonly completed: R;
}

export const OPERATION = 'bench/no-op';

let made = 0;

/** `read`: the row as it is there. */
export async function templateOf<R>(store: RecordStore, read: (id: string) => Promise<R>): Promise<Template<R>> {
  let running: R | undefined;
  let id = '';
  // As long as the keys that are measured.
  await runOnce({ store, operation: OPERATION, key: `-99 ${made++}` }, async ({ fence }) => {
    id = fence?.id ?? '';
    running = await read(id);
  });
  if (running === undefined) throw new Error('there is such a record already');
  return { running, completed: await read(id) };
}
