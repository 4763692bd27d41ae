/**
 * Writes that begin in the same turn of the event loop go to the store in one request, where it can take them so: a batch of messages then costs as many
 * round trips as one message does. Each is on its own condition, and has its own answer.
 *
 * @module
 */
import { writeUnknown } from './errors.ts';
import type { CallOptions, RecordStore, RecordWrite, WriteResult } from './ports.ts';

/** In one request. More of them would only make it long. */
const MOST_TOGETHER = 128;

type Batch = NonNullable<RecordStore['batch']>;

interface Waiting {
  readonly write: RecordWrite;
  readonly options: CallOptions;
  readonly settle: (result: WriteResult | PromiseLike<WriteResult>) => void;
  readonly fail: (error: unknown) => void;
}

const lines = new WeakMap<RecordStore, Map<string, Waiting>>();

/** As `create`, or as `replace` where a version is given. */
export function writeRecord(store: RecordStore, write: RecordWrite, options: CallOptions): Promise<WriteResult> {
  const { batch } = store;
  const line = lines.get(store) ?? new Map<string, Waiting>();
  // Whoever has put something around the two must not be passed by. Of the same record one at a time: it cannot be told which of two the store has taken.
  if (batch?.create !== store.create || batch.replace !== store.replace || line.has(write.id)) return alone(store, write, options);
  return new Promise((settle, fail) => {
    line.set(write.id, { write, options, settle, fail });
    if (line.size > 1) return;
    lines.set(store, line);
    // Runs when all that could go on in this turn has gone on.
    process.nextTick(() => {
      lines.delete(store);
      const waiting = [...line.values()];
      for (let from = 0; from < waiting.length; from += MOST_TOGETHER) send(store, batch, waiting.slice(from, from + MOST_TOGETHER));
    });
  });
}

/** What it throws at once, where it should not, is a rejection. */
function alone(store: RecordStore, { id, record, version }: RecordWrite, options: CallOptions): Promise<WriteResult> {
  try {
    return version === undefined ? store.create(id, record, options) : store.replace(id, record, version, options);
  } catch (error) {
    return Promise.reject(error);
  }
}

function send(store: RecordStore, batch: Batch, some: readonly Waiting[]): void {
  const writes = some.map(({ write, options }) => ({ ...write, ...options }));
  const answers = writes.length === 1 ? [Promise.resolve(undefined)] : asked(batch, writes);
  for (const [n, { write, options, settle, fail }] of some.entries()) {
    const isThere = n < answers.length;
    const answer = isThere ? answers[n] : Promise.reject(writeUnknown('one of several; the store has not said what became of it', undefined));
    // Of a store that somebody else has made: what is no promise must not be thrown about in the event loop.
    Promise.resolve(answer).then((result) => settle(result ?? alone(store, write, options)), fail);
  }
}

function asked(batch: Batch, writes: readonly RecordWrite[]): ReturnType<Batch['writeAll']> {
  try {
    return batch.writeAll(writes) ?? [];
  } catch (error) {
    return writes.map(() => Promise.reject(error));
  }
}

/** Aborts when nobody is left to wait for the answer. */
export function whenAllHaveLeft(writes: readonly RecordWrite[]): { readonly signal: AbortSignal; done(): void } {
  const controller = new AbortController();
  const staying = new Set(writes.flatMap(({ signal }) => (signal?.aborted ? [] : [signal])));
  const onAbort = (event: Event): void => {
    const signal = event.target as AbortSignal;
    staying.delete(signal);
    if (staying.size === 0) controller.abort(signal.reason);
  };
  for (const signal of staying) signal?.addEventListener('abort', onAbort, { once: true });
  if (staying.size === 0) controller.abort(writes[0]?.signal?.reason);
  return {
    signal: controller.signal,
    done() {
      for (const signal of staying) signal?.removeEventListener('abort', onAbort);
    },
  };
}
