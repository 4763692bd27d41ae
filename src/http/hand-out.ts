/**
 * The run as an adapter hands it to a handler: `commit` takes what the handler returns, the record gets what is kept of it.
 *
 * @module
 */
import { isRerunSafeError } from '../core/errors.ts';
import { told } from '../core/live-run.ts';
import type { Run, Step, StepOptions } from '../core/run.ts';

export interface Watch<A> {
  /** The commit went through; this is the outcome. */
  readonly committed?: (value: A) => void;
  /** The run itself raised this error: it is no error of the handler, even when it comes out through it. */
  readonly raised?: (error: object) => void;
}

export function handOut<A, B>(run: Run<B>, toKept: (value: A) => B | Promise<B>, watch: Watch<A> = {}): Run<A> {
  const note = (error: unknown): void => {
    if (isRerunSafeError(error)) watch.raised?.(error);
  };
  return {
    key: run.key,
    operation: run.operation,
    attempt: run.attempt,
    token: run.token,
    fence: run.fence,
    signal: run.signal,
    remainingMs: () => run.remainingMs(),
    keyFor: (name) => run.keyFor(name),
    outbox: run.outbox,
    assertHeld(minMs) {
      try {
        run.assertHeld(minMs);
      } catch (error) {
        note(error);
        throw error;
      }
    },
    step: (name, work, options) => told(step(name, work, options)),
    commit: (value, send) => told(commit(value, send)),
  };

  async function step<S>(name: string, work: (step: Step) => S | Promise<S>, options?: StepOptions<S>): Promise<S> {
    let ofTheWork: unknown;
    const watched = async (own: Step): Promise<S> => {
      try {
        return await work(own);
      } catch (error) {
        ofTheWork = error;
        throw error;
      }
    };
    try {
      return await run.step(name, watched, options);
    } catch (error) {
      // Of the step, not of the request: nobody may be told that the request was done.
      if (error !== ofTheWork && !isRerunSafeError(error, 'RESULT_NOT_STORED')) note(error);
      throw error;
    }
  }

  async function commit(value: A, send: Parameters<Run<A>['commit']>[1]): Promise<void> {
    const kept = await toKept(value);
    let ofTheSend: unknown;
    try {
      await run.commit(kept, async (request) => {
        try {
          return await send(request);
        } catch (error) {
          ofTheSend = error;
          throw error;
        }
      });
    } catch (error) {
      // A store that could not take the commit is our refusal, even though `send` is the caller's.
      if (error !== ofTheSend || isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'STORE_MISCONFIGURED')) note(error);
      throw error;
    }
    watch.committed?.(value);
  }
}
