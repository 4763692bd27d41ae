/**
 * One case on a store that others use at the same time: a key of its own, faults of its own, and a look past them.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore, Stored } from '../../src/core/ports.ts';
import { isLapsed, type RecordId, type RecordToWrite } from '../../src/core/record.ts';
import { type RunOnceOptions, type RunResult, tryRunOnce, type Work } from '../../src/index.ts';
import { type FaultPlan, type FaultyStore, faultyStore } from '../../src/testing/index.ts';
import type { StoreSubject } from './stores.ts';

/** For attempts that are to outlive their lease. A busy machine must still get a claim through within it. */
export const SHORT_MS = 800;
/** For attempts that are not. */
export const LONG_MS = 30_000;

export type CaseOptions = Partial<RunOnceOptions<never>>;

export interface Case {
  readonly key: string;
  readonly id: RecordId;
  readonly plan: FaultPlan;
  readonly store: FaultyStore;
  /** The store without the faults. */
  readonly direct: RecordStore;
  run<T>(work: Work<T>, options?: CaseOptions): Promise<RunResult<T>>;
  /** What stands in the store. */
  stands(): Promise<Stored | undefined>;
  /** The record as text, to see that nothing of it has changed. */
  row(): Promise<string>;
  /** Until the store says that the lease has run out. */
  lapse(): Promise<void>;
  /** Puts a record there, as another process would have left it. */
  seed(record: Partial<RecordToWrite>): Promise<RecordToWrite>;
}

/** `options` hold for every run of the case; a lease of {@link LONG_MS} unless they say otherwise. */
export type Fresh = (options?: CaseOptions) => Case;

export const OPERATION = 'test/promise';

export const casesOver =
  (subject: () => StoreSubject): Fresh =>
  (defaults = {}) => {
    const direct = subject().store;
    const plan: FaultPlan = {};
    const store = faultyStore(direct, plan);
    const key = randomUUID();
    const operation = defaults.operation ?? OPERATION;
    const id = recordId(operation, [], keyParts(key));
    const stands = (): Promise<Stored | undefined> => direct.read(id);
    return {
      key,
      id,
      plan,
      store,
      direct,
      stands,
      run<T>(work: Work<T>, options: CaseOptions = {}) {
        const all = { store, operation, key, leaseMs: LONG_MS, ...defaults, ...options };
        return tryRunOnce<T>(all as unknown as RunOnceOptions<T>, work);
      },
      row: async () => JSON.stringify((await stands())?.record),
      lapse: () =>
        until('the lease has run out', async () => {
          const standing = await stands();
          return standing !== undefined && isLapsed(standing.record, standing.ageMs, direct.clock.uncertaintyMs);
        }),
      async seed(changes) {
        const record = runningRecord(direct, { operation, ...changes });
        const result = await direct.create(id, record);
        if (!result.ok) throw new Error('there is a record already');
        return record;
      },
    };
  };

export const runningRecord = (store: RecordStore, changes: Partial<RecordToWrite> = {}): RecordToWrite => ({
  schema: 1,
  operation: OPERATION,
  scope: '',
  state: 'running',
  owner: randomUUID(),
  revision: randomUUID(),
  token: store.clock.nowMs(),
  attempt: 1,
  leaseMs: LONG_MS,
  retentionMs: 86_400_000,
  createdAtMs: store.clock.nowMs(),
  ...changes,
});

export async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  const endsAtMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > endsAtMs) throw new Error(`after ${limitMs} ms not yet: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Work that ends when the test says so. */
export interface Held<T> {
  readonly work: () => Promise<T>;
  readonly started: Promise<void>;
  end(value: T): void;
  fail(error: unknown): void;
}

export function held<T>(): Held<T> {
  const start = gate();
  let end: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  // A test that ends early leaves nobody to hear of it.
  ended.catch(() => {});
  return {
    started: start.opened,
    end,
    fail,
    work: () => {
      start.open();
      return ended;
    },
  };
}

export const never = (): Promise<never> => new Promise<never>(() => {});
