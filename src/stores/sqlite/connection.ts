/**
 * Calls on the database: each is one transaction, tried again while others have the file locked, and fails in the store's terms.
 *
 * @module
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallOptions } from '../../core/ports.ts';
import { isBusy, toStoreError } from './map-error.ts';
import type { Session, Source } from './source.ts';
import { hasStatementGoingOn, reading, writing } from './transaction.ts';
import { newLine, whenFree } from './when-free.ts';

export interface Connection {
  read<T>(call: CallOptions | undefined, body: (session: Session) => T): Promise<T>;
  write<T>(call: CallOptions | undefined, body: (session: Session) => T): Promise<T>;
  setUp(statements: readonly string[]): Promise<void>;
  /** Waits for the calls under way. A call after it opens the file again. */
  close(): Promise<void>;
}

export function connect(source: Source, busyTimeoutMs: number): Connection {
  const underWay = new Set<Promise<unknown>>();
  const writers = newLine();

  async function perform<T>(line: typeof writers, attempt: () => T, call: CallOptions | undefined): Promise<T> {
    try {
      await source.load();
      return await whenFree(line, attempt, { busyTimeoutMs, signal: call?.signal });
    } catch (error) {
      throw toStoreError(error, source.what);
    }
  }
  async function counted<T>(line: typeof writers, attempt: () => T, call?: CallOptions): Promise<T> {
    const performing = perform(line, attempt, call);
    underWay.add(performing);
    try {
      return await performing;
    } finally {
      underWay.delete(performing);
    }
  }
  const run = <T>(transaction: typeof reading, session: Session, body: (session: Session) => T): T =>
    transaction(session.database, () => body(session));

  function written<T>(body: (session: Session) => T): T {
    const session = source.session();
    try {
      return run(writing, session, body);
    } catch (error) {
      // A statement of the caller's that nobody ends would keep all that come after from committing.
      if (!isBusy(error) && hasStatementGoingOn(session.database)) source.abandon();
      throw error;
    }
  }

  return {
    async read(call, body) {
      // Nothing here waits for the network: a loop of replays would keep every timer from running.
      await nextTurn();
      // Reading needs no lock: it must not stand behind those who wait for one.
      return counted(newLine(), () => run(reading, source.session(), body), call);
    },
    write: (call, body) => counted(writers, () => written(body), call),
    setUp: (statements) =>
      counted(writers, () =>
        run(writing, source.session(true), ({ database }) => {
          for (const statement of statements) database.exec(statement);
        }),
      ),
    async close() {
      await Promise.allSettled(underWay);
      source.close();
    },
  };
}
