/**
 * One connection for as long as a transaction is open on it: what the work sees of it, and our own statements, none of which waits for ever.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';
import { realSystem, unlessAborted } from '../../core/system.ts';
import { isConnectionLost, isSerializationFailure, sqlStateOf } from './map-error.ts';
import { type Mark, markOn } from './mark.ts';
import type { PoolClientLike } from './query.ts';
import { refuseEnding } from './refuse-ending.ts';

/** What the work is handed: `query` as `pg` has it, on the connection of the transaction. */
export interface Transaction {
  /**
   * @throws RerunSafeError `INVALID_OPTIONS` once the transaction is over, and for a statement that would end it (`COMMIT`, `ROLLBACK`): then nothing
   * is sent. What PostgreSQL says comes through untouched.
   */
  query<Row extends object = Record<string, unknown>>(
    text: string | { readonly text: string; readonly values?: readonly unknown[] },
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>;
}

export interface Answer {
  readonly rows: Record<string, unknown>[];
  readonly rowCount: number | null;
  readonly command?: string;
}

export interface OwnStatement {
  /** Client-side, ms: a connection that died without a word never answers. */
  readonly limitMs?: number;
  /** Ends the wait; the connection is then thrown away, since the statement may still be waiting on the server. */
  readonly signal?: AbortSignal | undefined;
}

export interface Session {
  readonly tx: Transaction;
  /** Why PostgreSQL has given the transaction up; undefined while, as far as can be told, it has not. */
  readonly failure: unknown;
  /** Tells whether the transaction is still the one that was begun. */
  readonly mark: Mark;
  /** The conflict of this very transaction with another one (40001, 40P01) that was thrown, or for which the transaction has failed. */
  conflictIn(thrown: unknown): unknown;
  /** What was thrown is the very error that a statement of this transaction had from a connection that is gone. */
  isLoss(thrown: unknown): boolean;
  own(text: string, values?: unknown[], options?: OwnStatement): Promise<Answer>;
  /** What is still sent through `tx` is refused: the connection is somebody else's soon. */
  end(): void;
  /** The connection is in no known state: it will not go back to the pool. */
  discard(): void;
  readonly discarded: boolean;
  release(): void;
}

const OWN_LIMIT_MS = 15_000;
export const IN_FAILED_TRANSACTION = '25P02';

export function sessionOn(client: PoolClientLike): Session {
  let over = false;
  let broken = false;
  let failure: unknown;
  const conflicts = new Set<unknown>();
  const losses = new Set<unknown>();
  const settled = <R>(answer: Promise<R>): Promise<R> =>
    answer.then(
      (result) => {
        failure = undefined;
        return result;
      },
      (error: unknown) => {
        // Every statement after the first that fails says 25P02, which tells nothing.
        if (isSerializationFailure(error)) conflicts.add(error);
        if (isConnectionLost(error)) losses.add(error);
        // The driver's own limit leaves the statement under way, and whatever is sent after it waits for its end.
        if (isReadTimeout(error)) broken = true;
        if (failure === undefined || sqlStateOf(error) !== IN_FAILED_TRANSACTION) failure = error;
        throw error;
      },
    );
  const send = (...query: unknown[]): Promise<Answer> => settled((client.query as (...query: unknown[]) => Promise<Answer>).apply(client, query));
  // A connection that dies between two statements says so by an event, and an `error` event that nobody hears ends the process.
  const onError = (): void => {
    broken = true;
  };
  events(client).on?.('error', onError);
  const own: Session['own'] = async (text, values, { limitMs = OWN_LIMIT_MS, signal } = {}) => {
    const answer = send(text, ...(values === undefined ? [] : [values]));
    const late = new AbortController();
    const cancel = realSystem.timers.after(limitMs, () => late.abort(noAnswer(`no answer within ${limitMs} ms`)), { keepAlive: true });
    const stop = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
    try {
      return await unlessAborted(answer, stop);
    } catch (error) {
      if (stop.aborted && error === stop.reason) broken = true;
      throw isReadTimeout(error) ? noAnswer(String(error), error) : error;
    } finally {
      cancel();
    }
  };
  return {
    tx: {
      query: async (text, values) => {
        if (over) throw invalidOptions('tx.query', ['the transaction is over: a statement was sent after the work had ended, and is not awaited']);
        refuseEnding(typeof text === 'string' ? text : text.text);
        return (await send(text, ...(values === undefined ? [] : [values]))) as never;
      },
    },
    get failure() {
      return failure;
    },
    mark: markOn(own),
    // A conflict that the work recovered from, by a savepoint of its own, is none any more. Query builders wrap what the driver throws.
    conflictIn: (thrown) => [thrown, failure].find((error) => conflicts.has(error)),
    isLoss: (thrown) => losses.has(thrown),
    own,
    end() {
      over = true;
    },
    discard() {
      broken = true;
    },
    get discarded() {
      return broken;
    },
    release() {
      over = true;
      client.release(broken);
      // Destroying it may still make it say something.
      if (!broken) events(client).removeListener?.('error', onError);
    },
  };
}

interface Events {
  on?(event: 'error', listener: () => void): unknown;
  removeListener?(event: 'error', listener: () => void): unknown;
}
const events = (client: PoolClientLike): Events => client as Events;

const noAnswer = (message: string, cause?: unknown): Error => Object.assign(new Error(message, { cause }), { code: 'ETIMEDOUT' });
/** The driver's own limit was too short for a statement that may well be under way. */
export const isCutByDriver = (error: unknown): boolean => error instanceof Error && isReadTimeout(error.cause);
const isReadTimeout = (error: unknown): boolean => error instanceof Error && error.message === 'Query read timeout';
