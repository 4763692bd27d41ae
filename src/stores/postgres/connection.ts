/**
 * Calls on the database: statements on connections of the source, tried again where that is safe, each call with a time limit of its own.
 *
 * @module
 */
import { storeUnavailable, writeUnknown } from '../../core/errors.ts';
import type { CallOptions } from '../../core/ports.ts';
import { elapsedMs, instant, pause, realSystem, unlessAborted } from '../../core/system.ts';
import { isConnectionLost, isSerializationFailure, mapError } from './map-error.ts';
import type { PoolClientLike } from './query.ts';
import type { Source } from './source.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly rows: readonly Row[];
  readonly rowCount: number | null;
}

export interface Statement {
  /** For messages. */
  readonly what: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Without an answer it is in doubt. */
  readonly writes: boolean;
}

/** Sends one statement, in the time that the call has left. */
export type Ask = (statement: Statement) => Promise<Answer>;

export interface Connection {
  call<T>(options: CallOptions | undefined, body: (ask: Ask) => Promise<T>): Promise<T>;
}

/** Rolled back for another transaction: each time one of them gets through. */
const MOST_TRIES = 12;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 250;

export function connect(source: Source, requestTimeoutMs: number): Connection {
  return {
    async call(options, body) {
      const limit = new AbortController();
      const late = new Error(`no answer within ${requestTimeoutMs} ms`);
      const cancel = realSystem.timers.after(requestTimeoutMs, () => limit.abort(late), { keepAlive: true });
      const given = options?.signal;
      const onAbort = (): void => limit.abort(given?.reason);
      given?.addEventListener('abort', onAbort, { once: true });
      if (given?.aborted === true) onAbort();
      try {
        return await body((statement) => repeated(source, statement, limit.signal));
      } finally {
        cancel();
        given?.removeEventListener('abort', onAbort);
      }
    },
  };
}

async function repeated(source: Source, statement: Statement, signal: AbortSignal): Promise<Answer> {
  const { what, writes } = statement;
  for (let tries = 1; ; tries++) {
    const client = await taken(source, what, signal);
    try {
      return await asked(client, statement, signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason)
        throw writes ? writeUnknown(`PostgreSQL ${what}`, error) : storeUnavailable(`PostgreSQL ${what}`, error);
      // A pool may hand out a connection that died while nobody looked, in a sandbox that was frozen for one; reading again does no harm.
      const again = isSerializationFailure(error) ? tries < MOST_TRIES : !writes && tries === 1 && isConnectionLost(error);
      if (!again || signal.aborted) throw mapError(error, what, writes);
    }
    const mostMs = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
    await pause(realSystem, mostMs * realSystem.random(), signal).catch((reason) => {
      throw storeUnavailable(`PostgreSQL ${what}: rolled back ${tries} times for other transactions`, reason);
    });
  }
}

/** A wait that is given up must not keep the connection that it gets later. */
async function taken(source: Source, what: string, signal: AbortSignal): Promise<PoolClientLike> {
  if (signal.aborted) throw storeUnavailable(`PostgreSQL ${what}: not sent`, signal.reason);
  const since = instant(realSystem.clock);
  const taking = source.take();
  try {
    return await unlessAborted(taking, signal);
  } catch (error) {
    if (!signal.aborted) throw mapError(error, 'connect', false);
    taking.then(
      (client) => client.release(),
      () => {},
    );
    const waitedMs = Math.round(elapsedMs(since, realSystem.clock));
    throw storeUnavailable(
      `PostgreSQL ${what}: no connection within ${waitedMs} ms, all of the pool's are in use, or the server does not answer`,
      error,
    );
  }
}

interface Events {
  on?(event: 'error', listener: () => void): unknown;
  removeListener?(event: 'error', listener: () => void): unknown;
}

async function asked(client: PoolClientLike, { text, values }: Statement, signal: AbortSignal): Promise<Answer> {
  // While a connection is out of its pool nobody else hears that it broke, and an `error` event that nobody hears ends the process.
  const { on, removeListener } = client as Events;
  const unheard = (): void => {};
  on?.call(client, 'error', unheard);
  let broken = true;
  try {
    const answer = await unlessAborted(client.query(text, [...values]), signal);
    broken = false;
    return answer;
  } catch (error) {
    // A statement that nobody waits for any more is still under way: the connection with it is thrown away, the server ends it by its own limits.
    broken = signal.aborted || isConnectionLost(error);
    throw error;
  } finally {
    client.release(broken);
    if (!broken) removeListener?.call(client, 'error', unheard);
  }
}
