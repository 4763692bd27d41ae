import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RunEvent } from '../../../src/core/events.ts';
import { type GuardOptions, guardFrom } from '../../../src/core/guard.ts';
import { type RunResult, runGuarded, type Work } from '../../../src/core/run-once.ts';
import { type MemoryStoreOptions, memoryStore } from '../../../src/stores/memory/index.ts';
import { type FaultPlan, type FaultyStore, faultyStore, type StoreFault, type VirtualClock, virtualClock } from '../../../src/testing/index.ts';

/** The engine on a memory store in virtual time, with a place to put faults. */
export interface Bench {
  readonly clock: VirtualClock;
  readonly plan: FaultPlan;
  readonly store: FaultyStore;
  run<T>(
    work: Work<T>,
    options?: Partial<GuardOptions<T>> & { key?: unknown; scope?: unknown; input?: unknown; store?: never },
  ): Promise<RunResult<T>>;
}

export function bench(defaults: Partial<GuardOptions> = {}, kept: Omit<MemoryStoreOptions, 'clock'> = {}): Bench {
  const clock = virtualClock();
  const plan: FaultPlan = { timers: clock.timers };
  const store = faultyStore(memoryStore({ clock, ...kept }), plan);
  return {
    clock,
    plan,
    store,
    run(work, { key = 'k', scope, input, ...options } = {}) {
      const guard = guardFrom('test', { store, operation: 'test/op', leaseMs: 1_000, ...defaults, ...options } as GuardOptions<never>);
      return runGuarded(guard as never, { key, scope, input }, work as never, clock) as never;
    },
  };
}

/** A piece of work that ends when the test says so. */
export function held<T>(): { work: () => Promise<T>; started: Promise<void>; end: (value: T) => void; fail: (error: unknown) => void } {
  let begin = (): void => {};
  const started = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let end: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  ended.catch(() => {});
  return {
    started,
    end,
    fail,
    work: () => {
      begin();
      return ended;
    },
  };
}

/** Awaits something that needs virtual time to pass. */
export async function inTime<T>(clock: VirtualClock, promise: Promise<T>, mostMs = 600_000, stepMs = 50): Promise<T> {
  let done = false;
  const watched = promise.finally(() => {
    done = true;
  });
  watched.catch(() => {});
  for (let passed = 0; passed <= mostMs; passed += stepMs) {
    await clock.settle();
    if (done) return watched;
    await clock.advance(stepMs);
  }
  throw new Error(`not settled within ${mostMs} ms of virtual time`);
}

/** Collects what is published while `body` runs. */
export async function eventsOf(body: () => Promise<unknown>): Promise<string[]> {
  const events: string[] = [];
  const listener = (message: unknown): void => void events.push((message as RunEvent).event);
  subscribe('rerunsafe:run', listener);
  try {
    await body();
  } finally {
    unsubscribe('rerunsafe:run', listener);
  }
  return events;
}

/** Faults that a store's client brings about while the store itself is sound. */
export const LOST_ANSWERS: StoreFault[] = [
  'lost-answer',
  'retried-lost-answer',
  'lost-request',
  'hang',
  'hang-applied',
  { landsAfterMs: 30 },
  { landsAfterMs: 5_000 },
];
