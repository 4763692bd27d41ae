/**
 * Records in a SQLite file, by conditional statements.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { checkOptions, has, invalidOptions, isInteger, isName, type Rule, type Rules } from '../../core/options.ts';
import type { BatchStore } from '../../core/ports.ts';
import { purgeTable, scan, type Table } from './clean-up.ts';
import { connect } from './connection.ts';
import { sqlite } from './internals.ts';
import { rowsOf } from './rows.ts';
import { databaseFile, givenDatabase } from './source.ts';
import { DEFAULT_TABLE_NAME, isTableName, sqlFor } from './table.ts';
import { DEFAULT_BUSY_TIMEOUT_MS, isBusyTimeout } from './when-free.ts';
import { writeAll } from './write-all.ts';

export interface SqliteStoreOptions {
  /**
   * The database file, on a disk of this host; `setUp()` makes it, its folder has to be there. `':memory:'` is a database of this one store, gone with
   * the process: it guards against nothing that another process does. Either this or `database`.
   */
  readonly path?: string;
  /**
   * A connection of your own, for fenced writes and records in one file; it stays yours to close and to configure: `PRAGMA journal_mode = WAL`, no
   * `synchronous` below FULL, and no time limit of its own for locks (SQLite waits for them inside the event loop). Never await anything while a
   * transaction is open on it, nor leave an iterator (`iterate()`) open: until it is closed, the connection sees the file as it was.
   */
  readonly database?: DatabaseSync;
  /** Letters, digits and underscores. Default `rerunsafe`. */
  readonly tableName?: string;
  /** How long a call waits while others have the file locked, ms, before it is `STORE_UNAVAILABLE`. Default 5000. */
  readonly busyTimeoutMs?: number;
  /** How far the clocks of two callers may be apart, ms. Default 0: all processes of a host read the same clock. */
  readonly uncertaintyMs?: number;
  /** The largest record, bytes. Default 16 MiB, at most 512 MiB: SQLite ends at 1 GB, the event loop, in which it reads and writes, suffers long before. */
  readonly maxRecordBytes?: number;
  /** Stamps records and tells their age, epoch ms. Default: the wall clock. A virtual clock in tests. */
  readonly clock?: { nowMs(): number };
}

const DEFAULT_MAX_RECORD_BYTES = 16 * 1_048_576;
const MOST_RECORD_BYTES = 512 * 1_048_576;

const isPath: Rule = (value) =>
  isName(4096)(value) ?? (/^file:/i.test(String(value)) ? 'must be a path, not a URL: what its parameters do differs between versions' : undefined);

const RULES: Rules = {
  path: isPath,
  database: has('exec', 'prepare'),
  tableName: isTableName,
  busyTimeoutMs: isBusyTimeout,
  uncertaintyMs: isInteger(0),
  maxRecordBytes: isInteger(1_000, MOST_RECORD_BYTES),
  clock: has('nowMs'),
};

const WALL = { nowMs: (): number => Date.now() };

/**
 * Keeps records in a SQLite file, by the `node:sqlite` that comes with Node (loaded at the first call). Any number of processes of **one host** may
 * share the file; never put it on a network file system. What was answered is on the disk: write-ahead log, `synchronous = FULL`.
 *
 * Statements run inside the event loop, each commit waits for the disk there; only the wait for a lock does not. Node 22.13 prints an
 * `ExperimentalWarning` when SQLite is loaded, and this store does not hide it (`--disable-warning=ExperimentalWarning` does); Node 24.21 prints none.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options.
 *
 * @example
 * const store = sqliteStore({ path: '/var/lib/nightly/rerunsafe.db' });
 * await store.setUp(); // once, when deployed
 * await runOnce({ store, operation: 'reports/nightly', key: '2026-03-01' }, () => writeReport());
 */
export function sqliteStore(options: SqliteStoreOptions): BatchStore {
  const { source, sql, busyTimeoutMs, uncertaintyMs, maxRecordBytes, clock } = configure(options);
  const nowMs = (): number => Math.floor(clock.nowMs());
  const connection = connect(source, busyTimeoutMs);

  const rows = rowsOf(sql, nowMs, maxRecordBytes);
  const table: Table = { connection, sql, toStored: rows.toStored };

  const create: BatchStore['create'] = async (id, record, call) => {
    // A replay must not queue for the write lock: what stands already is refused by a look.
    const current = await connection.read(call, (session) => rows.find(session, id));
    if (current !== undefined) return { ok: false, reason: 'conflict', current };
    return connection.write(call, (session) => rows.put(session, id, record, undefined));
  };
  const replace: BatchStore['replace'] = (id, record, version, call) => connection.write(call, (session) => rows.put(session, id, record, version));

  const store: BatchStore = {
    name: 'sqlite',
    limits: { maxRecordBytes, inlineBytes: maxRecordBytes, maxKeyBytes: 1024 },
    clock: { source: 'store', uncertaintyMs, nowMs },
    read: (id, call) => connection.read(call, (session) => rows.find(session, id)),
    create,
    replace,
    batch: { create, replace, writeAll: (writes) => writeAll({ connection, rows }, writes) },
    delete: (id, version, call) => connection.write(call, (session) => rows.remove(session, id, version)),
    list: (query) => scan(table, query),
    purge: (query) => purgeTable(table, uncertaintyMs, query),
    setUp: () => connection.setUp(sql.setUp),
    close: () => connection.close(),
  };
  return sqlite.on(store, { connection, rows });
}

function configure(options: SqliteStoreOptions) {
  checkOptions('sqliteStore', options, RULES);
  const { path, database, tableName = DEFAULT_TABLE_NAME } = options;
  if ((path === undefined) === (database === undefined)) throw invalidOptions('sqliteStore', ['either path or database must be given']);
  return {
    source: database === undefined ? databaseFile(path as string) : givenDatabase(database),
    sql: sqlFor(tableName),
    busyTimeoutMs: options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS,
    uncertaintyMs: options.uncertaintyMs ?? 0,
    maxRecordBytes: options.maxRecordBytes ?? DEFAULT_MAX_RECORD_BYTES,
    clock: options.clock ?? WALL,
  };
}
