/**
 * Calls on the database: statements on connections of the source, tried again where that is safe, each call with a time limit of its own.
 *
 * @module
 */
import { storeUnavailable, writeUnknown } from '../../core/errors.ts';
import type { CallOptions } from '../../core/ports.ts';
import { elapsedMs, instant, pause, realSystem, unlessAborted } from '../../core/system.ts';
import { isConnectionLost, isNameRefused, isSerializationFailure, mapError } from './map-error.ts';
import type { PoolClientLike } from './query.ts';
import type { Source } from './source.ts';
import { type StatementNames, statementNames } from './statement-names.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly rows: readonly Row[];
  readonly rowCount: number | null;
}

export interface Statement {
  /** For messages. */
  readonly what: string;
  readonly text: string;
  /** A function is asked when there is a connection to send them on. */
  readonly values: readonly unknown[] | (() => readonly unknown[]);
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

export function connect(source: Source, requestTimeoutMs: number, prepares: boolean): Connection {
  const names = prepares ? statementNames() : undefined;
  return {
    async call(options, body) {
      const limit = new AbortController();
      const late = (): Error => new Error(`no answer within ${requestTimeoutMs} ms`);
      const cancel = realSystem.timers.after(requestTimeoutMs, () => limit.abort(late()), { keepAlive: true });
      const given = options?.signal;
      const onAbort = (): void => limit.abort(given?.reason);
      given?.addEventListener('abort', onAbort, { once: true });
      if (given?.aborted === true) onAbort();
      try {
        return await body((statement) => repeated({ source, names }, statement, limit.signal));
      } finally {
        cancel();
        given?.removeEventListener('abort', onAbort);
      }
    },
  };
}

interface Means {
  readonly source: Source;
  readonly names: StatementNames | undefined;
}

async function repeated({ source, names }: Means, statement: Statement, signal: AbortSignal): Promise<Answer> {
  const { what, writes } = statement;
  for (let tries = 1; ; tries++) {
    const client = await taken(source, what, signal);
    const name = names?.of(statement.text);
    try {
      return await asked(client, name, statement, signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason)
        throw writes ? writeUnknown(`PostgreSQL ${what}`, error) : storeUnavailable(`PostgreSQL ${what}`, error);
      // Refused before anything was run: with no name it will go through.
      if (name !== undefined && isNameRefused(error)) {
        names?.giveNoMore();
        continue;
      }
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

interface Prepares {
  query(statement: { readonly name: string; readonly text: string; readonly values: unknown[] }): ReturnType<PoolClientLike['query']>;
}

interface Events {
  on?(event: 'error', listener: () => void): unknown;
  removeListener?(event: 'error', listener: () => void): unknown;
}

async function asked(client: PoolClientLike, name: string | undefined, { text, values }: Statement, signal: AbortSignal): Promise<Answer> {
  // While a connection is out of its pool nobody else hears that it broke, and an `error` event that nobody hears ends the process.
  const { on, removeListener } = client as Events;
  const unheard = (): void => {};
  on?.call(client, 'error', unheard);
  let broken = true;
  try {
    const sending = [...(typeof values === 'function' ? values() : values)];
    const sent = name === undefined ? client.query(text, sending) : (client as unknown as Prepares).query({ name, text, values: sending });
    const answer = await unlessAborted(sent, signal);
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
