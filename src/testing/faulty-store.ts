/**
 * A store that fails in chosen places, in the ways real ones do.
 *
 * @module
 */
import { storeUnavailable, writeUnknown } from '../core/errors.ts';
import type { CallOptions, RecordStore, Stored, Timers, WriteResult } from '../core/ports.ts';
import type { RecordId, RecordToWrite, Version } from '../core/record.ts';

export type StoreOperation = 'read' | 'create' | 'replace' | 'delete' | 'putPart' | 'readPart';

/**
 * What goes wrong. Writes in doubt throw `WRITE_UNKNOWN`; a read that fails throws `STORE_UNAVAILABLE`.
 *
 * - `lost-answer`: applied, then in doubt.
 * - `lost-request`: in doubt, and not applied.
 * - `unavailable`: not applied, and said so.
 * - `retried-lost-answer`: applied, and then sent again as an SDK would: the answer is a conflict with one's own record.
 * - `hang`: not applied; no answer until the signal aborts, then in doubt.
 * - `hang-applied`: the same, but applied.
 * - `{ delayMs }`: applied after so long; a caller whose signal aborts meanwhile is in doubt, and it is applied all the same.
 * - `{ landsAfterMs }`: in doubt at once, and applied later all the same: the late copy of a request.
 */
export type StoreFault =
  | 'lost-answer'
  | 'lost-request'
  | 'unavailable'
  | 'retried-lost-answer'
  | 'hang'
  | 'hang-applied'
  | { readonly delayMs: number }
  | { readonly landsAfterMs: number };

/** The fault of the n-th call (from 1) of an operation: by number, or by a function. */
export type FaultChoice = Readonly<Record<number, StoreFault>> | ((n: number, call: StoreCall) => StoreFault | undefined);

/** Read at every call, so a test may change it as it goes. */
export interface FaultPlan extends Partial<Record<StoreOperation, FaultChoice>> {
  /** Awaited before the call reaches the store. */
  before?: (operation: StoreOperation, n: number, call: StoreCall) => Promise<void> | void;
  /** Awaited after the store has answered and before the caller learns of it, lost answers included. */
  after?: (operation: StoreOperation, n: number, call: StoreCall) => Promise<void> | void;
  /** For delays. Default: real timers; a test in virtual time passes those of its clock. */
  timers?: Timers;
}

export interface StoreCall {
  readonly operation: StoreOperation;
  /** From 1, for each operation by itself. */
  readonly n: number;
  readonly id: RecordId;
  readonly record?: RecordToWrite;
  readonly version?: Version;
  /** Of a part. */
  readonly name?: string;
  readonly fault?: StoreFault;
  /** What the store answered (the last answer, where it was asked twice), whether or not the caller was told. */
  answer?: Stored | WriteResult | Uint8Array | 'written' | 'absent' | 'failed';
}

export interface FaultyStore extends RecordStore {
  /** Every call in the order of arrival. */
  readonly calls: readonly StoreCall[];
  readonly counts: Readonly<Record<StoreOperation, number>>;
}

/**
 * Wraps a store. `list`, `purge`, `setUp` and `close` go through untouched.
 *
 * @example
 * const store = faultyStore(memoryStore(), { create: { 1: 'lost-answer' } });
 */
export function faultyStore(store: RecordStore, plan: FaultPlan = {}): FaultyStore {
  const calls: StoreCall[] = [];
  const counts: Record<StoreOperation, number> = { read: 0, create: 0, replace: 0, delete: 0, putPart: 0, readPart: 0 };

  async function run<T extends Stored | WriteResult | Uint8Array | undefined>(
    operation: StoreOperation,
    request: { id: RecordId; record?: RecordToWrite; version?: Version; name?: string },
    options: CallOptions | undefined,
    send: (options?: CallOptions) => Promise<T>,
  ): Promise<T> {
    counts[operation] += 1;
    const n = counts[operation];
    const seen: StoreCall = { operation, n, ...request };
    const choice = plan[operation];
    const fault = typeof choice === 'function' ? choice(n, seen) : choice?.[n];
    const call: StoreCall = fault === undefined ? seen : { ...seen, fault };
    calls.push(call);

    const apply = async (): Promise<T> => {
      try {
        // What was sent is not called back by the caller's abort: only undisturbed calls get to see the signal.
        const answer = await send(fault === undefined ? options : undefined);
        call.answer = answer ?? (operation === 'putPart' ? 'written' : 'absent');
        return answer;
      } catch (error) {
        call.answer = 'failed';
        throw error;
      }
    };
    const inDoubt = (): Error => {
      const cause = new Error(`injected: ${JSON.stringify(fault)}`);
      return operation === 'read' || operation === 'readPart' ? storeUnavailable(operation, cause) : writeUnknown(operation, cause);
    };

    await plan.before?.(operation, n, call);
    const answered = async (): Promise<T> => {
      const answer = await apply();
      await plan.after?.(operation, n, call);
      return answer;
    };
    if (typeof fault === 'object') {
      const timers = plan.timers ?? REAL_TIMERS;
      if ('landsAfterMs' in fault) {
        // Nobody is left to be told when the late copy is refused.
        timers.after(fault.landsAfterMs, () => void answered().catch(() => undefined));
        throw inDoubt();
      }
      const delayed = new Promise<void>((resolve) => timers.after(fault.delayMs, resolve, { keepAlive: true })).then(answered);
      const left = Symbol('the caller left');
      const first = await Promise.race([delayed, aborted(options?.signal).then(() => left)]);
      if (first !== left) return delayed;
      delayed.catch(() => undefined);
      throw inDoubt();
    }
    switch (fault) {
      case undefined:
        return answered();
      case 'lost-answer':
        await answered();
        throw inDoubt();
      case 'lost-request':
        throw inDoubt();
      case 'unavailable':
        throw storeUnavailable(operation, new Error('injected: unavailable'));
      case 'retried-lost-answer':
        await apply();
        return answered();
      case 'hang':
        await aborted(options?.signal);
        throw inDoubt();
      case 'hang-applied':
        await answered();
        await aborted(options?.signal);
        throw inDoubt();
    }
  }

  return {
    ...store,
    name: store.name,
    limits: store.limits,
    clock: store.clock,
    calls,
    counts,
    read: (id, options) => run('read', { id }, options, (given) => store.read(id, given)),
    create: (id, record, options) => run('create', { id, record }, options, (given) => store.create(id, record, given)),
    replace: (id, record, version, options) => run('replace', { id, record, version }, options, (given) => store.replace(id, record, version, given)),
    delete: (id, version, options) => run('delete', { id, version }, options, (given) => store.delete(id, version, given)),
    ...(store.putPart === undefined
      ? {}
      : {
          putPart: (id, name, bytes, options) =>
            run('putPart', { id, name }, options, async (given): Promise<undefined> => {
              await store.putPart?.(id, name, bytes, { keepMs: options.keepMs, ...given });
            }),
        }),
    ...(store.readPart === undefined
      ? {}
      : { readPart: (id, name, options) => run('readPart', { id, name }, options, async (given) => store.readPart?.(id, name, given)) }),
    list: (query) => store.list(query),
    purge: (query) => store.purge(query),
    ...(store.setUp === undefined ? {} : { setUp: () => store.setUp?.() ?? Promise.resolve() }),
    ...(store.close === undefined ? {} : { close: () => store.close?.() ?? Promise.resolve() }),
  };
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

const REAL_TIMERS: Timers = {
  after(ms, callback, options) {
    const timer = setTimeout(callback, ms);
    if (options?.keepAlive !== true) timer.unref();
    return () => clearTimeout(timer);
  },
};
