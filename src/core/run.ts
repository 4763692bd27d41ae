/**
 * What the work is handed: who it is, how long it may go on, and how to commit with its own data.
 *
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { UnknownAnswer } from './guard.ts';
import type { Key } from './key.ts';
import type { Outbox, PendingMessage } from './outbox.ts';
import type { Fence, RecordStore, WriteResult } from './ports.ts';
import type { RecordId, RecordToWrite, Version } from './record.ts';

/** What the work of a step is handed. */
export interface Step {
  readonly name: string;
  /** For the far side: the same in every attempt, another one for every step and key. 43 characters of `[A-Za-z0-9_-]`. */
  readonly key: string;
  /** Which attempt of the run this is, from 1. */
  readonly attempt: number;
  /** Of the run. */
  readonly signal: AbortSignal;
}

export interface StepOptions<S = unknown> {
  /** Hashed and kept with the step; another input under the same name in a later attempt is `STEP_CHANGED`. */
  readonly input?: unknown;
  /** In a loop: what tells the rounds apart. Never a position: an item's own id. */
  readonly key?: Key;
  /**
   * `atLeastOnce` (default): after it resolved its work never starts again; until then it may. `atMostOnce`: one more write marks the start, and once it
   * has started its work never starts again by itself.
   */
  readonly mode?: 'atLeastOnce' | 'atMostOnce';
  /**
   * An at-most-once step was begun by an earlier attempt that did not finish it (or threw; a `NotDoneError` says that nothing has happened). Asked what
   * became of it. Default, and on `'block'`: the run is blocked until a person resolves it.
   */
  readonly onInterrupted?: (step: Step) => UnknownAnswer<S> | Promise<UnknownAnswer<S>>;
}

/** The record as it has to be written together with the business rows, on condition of `version` (undefined: only when absent). */
export interface CommitRequest {
  readonly id: RecordId;
  readonly record: RecordToWrite;
  readonly version: Version | undefined;
  /** The store of the run: the very object that was given, or what was spread from it. */
  readonly store: RecordStore;
  /** What was added to the outbox; to be written in the same transaction, or the whole of it refused. */
  readonly messages: readonly PendingMessage[];
}

export interface Run<T = unknown> {
  /** Derived from operation, scope and key: the same in every attempt, safe to send. 43 characters of `[A-Za-z0-9_-]`. */
  readonly key: string;
  readonly operation: string;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** Grows with every change of owner; undefined in an unguarded run. */
  readonly token: number | undefined;
  /** What a fenced write is checked against; undefined in an unguarded run. */
  readonly fence: Fence | undefined;
  /** Aborts when the lease is lost (reason: `LEASE_LOST`) or the caller cancels. Advisory: {@link assertHeld} is the check. */
  readonly signal: AbortSignal;
  /** What is left of the lease, or of the invocation where that ends first, ms. Never negative. */
  remainingMs(): number;
  /**
   * Reads the clocks: after a synchronous stall the signal has not fired yet.
   *
   * @throws RerunSafeError `LEASE_LOST` when less than `minMs` (default 0) is left.
   */
  assertHeld(minMs?: number): void;
  /** A key for one call to the far side: stable across attempts, different for each name. */
  keyFor(name: string): string;
  /**
   * Does a part of the work once: after it resolves its value is kept, and later attempts get it back instead of running it again. Addressed by its
   * name (and key), never by its place: steps may be added, removed and put in another order; one that is renamed is another step.
   *
   * @throws RerunSafeError `DUPLICATE_STEP` for a name (and key) used twice in one attempt, `STEP_CHANGED`, `LEASE_LOST`, `WRITE_UNKNOWN`;
   * `RESULT_NOT_STORED` (done by an earlier attempt, its value could not be kept) and `BLOCKED` (begun by an earlier attempt, at most once): where the
   * work lets them through, the run is blocked, since another attempt would meet them again.
   */
  step<S>(name: string, work: (step: Step) => S | Promise<S>, options?: StepOptions<S>): Promise<S>;
  /**
   * The completion, written by `send` in one transaction with business rows. What the work does afterwards changes nothing.
   *
   * @throws RerunSafeError `LEASE_LOST` (nothing was written), `WRITE_UNKNOWN`, or what `send` throws.
   */
  commit(value: T, send: (request: CommitRequest) => Promise<WriteResult>): Promise<void>;
  /** Messages that leave if the outcome is committed, and only then. A run that ends without a commit that writes them fails with `INVALID_OPTIONS`. */
  readonly outbox: Outbox;
}

// One for all copies of the package in a process, so that ESM and CommonJS see the same run.
const SLOT = Symbol.for('rerunsafe.current-run');
type Global = typeof globalThis & { [SLOT]?: AsyncLocalStorage<Run> };

const storage = (): AsyncLocalStorage<Run> => {
  const shared = globalThis as Global;
  shared[SLOT] ??= new AsyncLocalStorage<Run>();
  return shared[SLOT];
};

/** The run this code is part of, from anywhere below; undefined outside of one. */
export const currentRun = (): Run | undefined => storage().getStore();

export const inRun = <R>(run: Run, work: () => R): R => storage().run(run, work);
