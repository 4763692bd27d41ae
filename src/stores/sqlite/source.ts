/**
 * Where the database comes from: a file of our own, opened at the first call, or a connection of the caller's.
 *
 * @module
 */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { storeMisconfigured } from '../../core/errors.ts';

export const IN_MEMORY = ':memory:';

type Sqlite = typeof import('node:sqlite');

/** A connection, and the statements prepared on it. */
export interface Session {
  readonly database: DatabaseSync;
  prepare(sql: string): StatementSync;
}

export interface Source {
  /** For messages. */
  readonly what: string;
  /** What cannot be done synchronously. */
  load(): Promise<void>;
  /** `mayCreate`: by setting up alone. A mistyped path must not become an empty database, in which nothing has ever run. */
  session(mayCreate?: boolean): Session;
  /** The connection has a statement under way that nothing here can end. A file of our own is opened anew; the caller's connection is the caller's. */
  abandon(): void;
  close(): void;
}

export function givenDatabase(database: DatabaseSync): Source {
  const session = sessionOn(database);
  return { what: 'database', load: async () => {}, session: () => session, abandon: () => {}, close: () => {} };
}

export function databaseFile(given: string): Source {
  const path = given === IN_MEMORY ? given : resolve(given);
  let sqlite: Sqlite | undefined;
  let opened: { readonly session: Session; readonly file: string | undefined } | undefined;
  const close = (): void => {
    opened?.session.database.close();
    opened = undefined;
  };
  return {
    what: `database ${path}`,
    async load() {
      sqlite ??= await loadSqlite();
    },
    session(mayCreate = false) {
      // A file that was replaced (restored from a backup) or removed lives on for those who have it open: they would guard against nobody.
      if (opened !== undefined && opened.file !== identityOf(path)) close();
      if (opened !== undefined) return opened.session;
      if (sqlite === undefined) throw new Error('not loaded');
      if (!mayCreate && path !== IN_MEMORY && identityOf(path) === undefined) {
        throw storeMisconfigured(`there is no database file ${path}. Make it by calling setUp() once.`);
      }
      const session = sessionOn(openFile(sqlite, path));
      opened = { session, file: identityOf(path) };
      return session;
    },
    abandon() {
      // With it all that is kept there would be gone.
      if (path !== IN_MEMORY) close();
    },
    close,
  };
}

/** A caller's connection may be set to big integers and arrays; a count of 1n is no 1, and a write that succeeded would pass for refused. */
export function prepareOn(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReadBigInts(false);
  // Node 22 has neither the method nor the setting.
  statement.setReturnArrays?.(false);
  return statement;
}

function sessionOn(database: DatabaseSync): Session {
  const prepared = new Map<string, StatementSync>();
  return {
    database,
    prepare(sql) {
      const statement = prepared.get(sql) ?? prepareOn(database, sql);
      prepared.set(sql, statement);
      return statement;
    },
  };
}

function openFile({ DatabaseSync: Database }: Sqlite, path: string): DatabaseSync {
  const database = new Database(path);
  try {
    // Waiting is ours to do: SQLite would sleep in the event loop.
    database.exec('PRAGMA busy_timeout = 0');
    const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() ?? {};
    if (mode !== 'wal' && path !== IN_MEMORY) {
      throw storeMisconfigured(`SQLite cannot keep a write-ahead log at ${path} (journal mode ${String(mode)}). Is it on a network file system?`);
    }
    // An answer means that it is on the disk. On macOS only a full fsync reaches that; elsewhere the pragma does nothing.
    database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function identityOf(path: string): string | undefined {
  if (path === IN_MEMORY) return undefined;
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}/${found.ino}`;
}

async function loadSqlite(): Promise<Sqlite> {
  try {
    return await import('node:sqlite');
  } catch (cause) {
    throw storeMisconfigured('node:sqlite could not be loaded. It comes with Node 22.13 and later.', cause);
  }
}
