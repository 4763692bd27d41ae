/**
 * Calls on the database: each is one transaction, tried again while others have the file locked, and fails in the store's terms.
 *
 * @module
 */
import type { CallOptions } from '../../core/ports.ts';
import { toStoreError } from './map-error.ts';
import type { Session, Source } from './source.ts';
import { reading, writing } from './transaction.ts';
import { whenFree } from './when-free.ts';

export interface Connection {
  read<T>(call: CallOptions | undefined, body: (session: Session) => T): Promise<T>;
  write<T>(call: CallOptions | undefined, body: (session: Session) => T): Promise<T>;
  setUp(statements: readonly string[]): Promise<void>;
  /** Waits for the calls under way. A call after it opens the file again. */
  close(): Promise<void>;
}

export function connect(source: Source, busyTimeoutMs: number): Connection {
  const underWay = new Set<Promise<unknown>>();

  async function perform<T>(attempt: () => T, call: CallOptions | undefined): Promise<T> {
    try {
      await source.load();
      return await whenFree(attempt, { busyTimeoutMs, signal: call?.signal });
    } catch (error) {
      throw toStoreError(error, source.what);
    }
  }
  async function counted<T>(attempt: () => T, call?: CallOptions): Promise<T> {
    const performing = perform(attempt, call);
    underWay.add(performing);
    try {
      return await performing;
    } finally {
      underWay.delete(performing);
    }
  }
  const on = <T>(session: Session, transaction: typeof reading, body: (session: Session) => T): T =>
    transaction(session.database, () => body(session));

  return {
    read: (call, body) => counted(() => on(source.session(), reading, body), call),
    write: (call, body) => counted(() => on(source.session(), writing, body), call),
    setUp: (statements) =>
      counted(() =>
        on(source.session(true), writing, ({ database }) => {
          for (const statement of statements) database.exec(statement);
        }),
      ),
    async close() {
      await Promise.allSettled(underWay);
      source.close();
    },
  };
}
