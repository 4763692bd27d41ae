/**
 * `commitWith` as every store has it: what the store of the run carries for it is found again, and its answers are the run's.
 *
 * @module
 */
import { isRerunSafeError } from './errors.ts';
import { has, invalidOptions } from './options.ts';
import type { RecordStore, WriteResult } from './ports.ts';
import type { CommitRequest, Run } from './run.ts';

/** What stores of one kind carry for their `commitWith`. A copy that is spread from the store carries it too. */
export interface Carried<I> {
  on<S extends RecordStore>(store: S, internals: I): S;
  /** undefined: a store of another kind, a wrapper that is no spread copy, or made by another copy of this package. */
  of(store: RecordStore): I | undefined;
  /** For messages: `dynamodbStore`. */
  readonly madeBy: string;
}

export function carried<I>(madeBy: string): Carried<I> {
  const mark = Symbol(madeBy);
  return {
    madeBy,
    on: (store, internals) => Object.assign(store, { [mark]: internals }),
    of: (store) => (store as unknown as Record<symbol, I | undefined>)[mark],
  };
}

interface Commit<T, I> {
  readonly run: Run<T>;
  readonly value: T;
  readonly kind: Carried<I>;
  /** Ends the tries. What it throws then is the reason, unless an earlier try is in doubt. */
  readonly signal?: AbortSignal | undefined;
}

/** @throws RerunSafeError `INVALID_OPTIONS` (nothing was written), and what `run.commit` throws. */
export function commitThrough<T, I>(
  { run, value, kind, signal }: Commit<T, I>,
  write: (internals: I, request: CommitRequest) => Promise<WriteResult>,
): Promise<void> {
  const wrong = has('commit')(run);
  if (wrong !== undefined) throw invalidOptions('commitWith', [`the run ${wrong}`]);
  return run.commit(value, async (request) => {
    signal?.throwIfAborted();
    try {
      return await write(internalsOf(request.store, kind), request);
    } catch (error) {
      // To a run that is not told, a store that does not answer is one to try again.
      if (isRerunSafeError(error, 'STORE_UNAVAILABLE')) signal?.throwIfAborted();
      throw error;
    }
  });
}

function internalsOf<I>(store: RecordStore, kind: Carried<I>): I {
  const internals = kind.of(store);
  if (internals !== undefined) return internals;
  throw invalidOptions('commitWith', [
    `the run's record is kept in the store "${store.name}", and this is the commitWith of ${kind.madeBy}: take the one that comes with the store (a wrapper around a store must be spread from it, \`{ ...store }\`). Nothing was written`,
  ]);
}

/** @throws RerunSafeError `INVALID_OPTIONS` */
export function withoutMessages({ messages }: CommitRequest, store: string): void {
  if (messages.length > 0)
    throw invalidOptions('commitWith', [`${store} has no outbox, and ${messages.length} message(s) were added to it. Nothing was written`]);
}
