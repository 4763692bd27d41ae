/**
 * Records in PostgreSQL, one statement for each transition.
 *
 * @module
 */
import { storeUnavailable } from '../../core/errors.ts';
import { checkOptions, has, invalidOptions, isBoolean, isInteger, type Rules } from '../../core/options.ts';
import type { BatchStore, CallOptions, Conflict, Stored, WriteResult, Written } from '../../core/ports.ts';
import type { RecordId, RecordToWrite, Version } from '../../core/record.ts';
import { purgeTable, scan, type Table } from './clean-up.ts';
import { type Ask, connect, type Row } from './connection.ts';
import { DEFAULT_MAX_RECORD_BYTES, postgres } from './internals.ts';
import { runMigrations, type TablePlace } from './migrations.ts';
import { DEFAULT_TABLE_NAME, qualified, TABLE_RULES } from './names.ts';
import { OUTBOX_RULES } from './outbox-table.ts';
import type { PoolLike, Queryable } from './query.ts';
import { serverTime } from './server-time.ts';
import { givenClient, givenPool, ownPool, type Source } from './source.ts';
import { bytesOf, sqlFor, toRecord, toValues } from './table.ts';
import { escaped } from './text.ts';
import { MOST_MS } from './transaction.ts';
import { writeAll } from './write-all.ts';

export interface PostgresStoreOptions {
  /** A `Pool` of `pg`; stays yours to end. Listen to its `error` event: without that, the end of an idle connection ends the process. */
  readonly pool?: PoolLike;
  /** One connected client instead, for this store alone: statements go one after the other, and a transaction of yours on it is refused. */
  readonly client?: Queryable;
  /** For a pool of the store's own, made at the first call, ended by `close()`. Without any of the three: `DATABASE_URL`, or else `PGHOST` and its kin. */
  readonly connectionString?: string;
  /** Of a pool of the store's own. Default 4: a function instance needs few, and there are many instances. */
  readonly maxConnections?: number;
  /** Default: the first of the search path that has the table. */
  readonly schema?: string;
  /** At most 40 bytes; capital and small letters are different. Default `rerunsafe`. */
  readonly tableName?: string;
  /** For `setUp()` alone: the tables of the outbox. Default `rerunsafe_outbox`. */
  readonly outboxTable?: string;
  /**
   * Statements are prepared once for each connection, which halves what the server does for each; where a pooler does not know of that, they are sent without,
   * by themselves. Default: true for a pool of the store's own. For a pool or a client of yours false, since what you made may stand between: `true` where
   * it takes `query({ name, text, values })`, as `pg` does. `false` for a proxy that binds a connection to its client for it (RDS Proxy).
   */
  readonly preparedStatements?: boolean;
  /** The longest time for a call, the wait for a free connection included, ms. Default 10,000. */
  readonly requestTimeoutMs?: number;
  /** The longest wait for a row that another transaction holds, ms, then `STORE_UNAVAILABLE`. Less than `requestTimeoutMs`. Default 3000. */
  readonly lockTimeoutMs?: number;
  /** Added to every lease and retention before others call them over, ms. Default 0: one clock, the server's, stamps and judges. */
  readonly uncertaintyMs?: number;
  /** The largest record, bytes. Default 16 MiB, at most 256 MiB. */
  readonly maxRecordBytes?: number;
}

const DEFAULTS = { maxConnections: 4, requestTimeoutMs: 10_000, lockTimeoutMs: 3_000, uncertaintyMs: 0, maxRecordBytes: DEFAULT_MAX_RECORD_BYTES };
const MOST_RECORD_BYTES = 256 * 1_048_576;

const RULES: Rules = {
  pool: has('connect', 'query'),
  client: has('query'),
  connectionString: (value) => (typeof value === 'string' && value !== '' ? undefined : 'must be a connection string'),
  maxConnections: isInteger(1, 1_000),
  preparedStatements: isBoolean,
  ...TABLE_RULES,
  ...OUTBOX_RULES,
  requestTimeoutMs: isInteger(1, MOST_MS),
  lockTimeoutMs: isInteger(1, MOST_MS),
  uncertaintyMs: isInteger(0),
  maxRecordBytes: isInteger(1_000, MOST_RECORD_BYTES),
};

/** Only ever more than one where the row was removed, or changed, under our eyes each time. */
const MOST_ROUNDS = 8;

/**
 * Keeps records in PostgreSQL (14 and later) through `pg`, which is loaded at the first call, and only for a pool of the store's own. Records are stamped
 * and judged by the server's clock. Works through a transaction pooler, and under any isolation level that the connection has by default.
 *
 * What was answered is as durable as the server is: with `synchronous_commit` off, or after a failover to a replica that lagged, it may be lost.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options.
 *
 * @example
 * const store = postgresStore({ pool });
 * await store.setUp(); // once, when deployed
 * await runOnce({ store, operation: 'payments/charge', key: order.id, input: order }, () => charge(order));
 */
export function postgresStore(options: PostgresStoreOptions = {}): BatchStore {
  const { source, place, name, lockTimeoutMs, requestTimeoutMs, uncertaintyMs, maxRecordBytes } = configure(options);
  const sql = sqlFor(name);
  const connection = connect(source, requestTimeoutMs, options.preparedStatements ?? (options.pool === undefined && options.client === undefined));
  const time = serverTime();
  const lockLimit = String(lockTimeoutMs);

  const toStored = (row: Row): Stored => {
    const record = toRecord(row);
    return { record, version: record.revision, ageMs: Math.max(0, Number(row.now_ms) - record.writtenAtMs) };
  };
  const table: Table = { connection, name, toStored };

  /** A row that always comes. */
  const one = async (ask: Ask, what: string, text: string, values: readonly unknown[], writes: boolean): Promise<Row> => {
    const sentAtMs = Date.now();
    const row = (await ask({ what, text, values, writes })).rows[0] ?? {};
    time.learn(Number(row.now_ms), sentAtMs, Date.now());
    return row;
  };
  const find = async (ask: Ask, id: RecordId): Promise<Stored | undefined> => {
    const row = await one(ask, 'read', sql.find, [id], false);
    return row.id === null ? undefined : toStored(row);
  };

  /**
   * A statement sees what was there when it began. Where it had to wait for a row, that is old: another transaction has written it (`create` then sees
   * nothing at all, the others see the very version they asked for), so it is looked at again, and where it is free after all, asked again.
   */
  const conditional = (
    what: 'create' | 'replace' | 'delete',
    text: string,
    id: RecordId,
    values: readonly unknown[],
    call?: CallOptions,
    version?: Version,
  ) =>
    connection.call(call, async (ask): Promise<Row | Conflict> => {
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const row = await one(ask, what, text, [lockLimit, id, ...values], true);
        if (row.written_token !== null) return row;
        const seen = row.id === null ? undefined : toStored(row);
        const isOld = what === 'create' ? seen === undefined : seen?.version === version;
        const current = isOld ? await find(ask, id) : seen;
        const isFree = what === 'create' ? current === undefined : current !== undefined && current.version === version;
        if (!isFree) return { ok: false, reason: 'conflict', current };
      }
      throw storeUnavailable(`PostgreSQL ${what}: the record changed under each of ${MOST_ROUNDS} looks at it`, undefined);
    });

  const write = async (
    what: 'create' | 'replace',
    id: RecordId,
    record: RecordToWrite,
    call: CallOptions | undefined,
    version?: Version,
  ): Promise<WriteResult> => {
    const values = toValues(record);
    if (bytesOf(values) > maxRecordBytes) return { ok: false, reason: 'too-large' };
    const all = version === undefined ? values : [escaped(version), ...values];
    const answer = await conditional(what, sql[what], id, all, call, version);
    return isConflict(answer) ? answer : { ok: true, version: record.revision, token: Number(answer.written_token) };
  };

  const create: BatchStore['create'] = (id, record, call) => write('create', id, record, call);
  const replace: BatchStore['replace'] = (id, record, version, call) => write('replace', id, record, call, version);

  const store: BatchStore = {
    name: 'postgres',
    limits: { maxRecordBytes, inlineBytes: maxRecordBytes, maxKeyBytes: 1024 },
    clock: { source: 'store', uncertaintyMs, nowMs: time.nowMs },
    read: (id, call) => connection.call(call, (ask) => find(ask, id)),
    create,
    replace,
    batch: { create, replace, writeAll: (writes) => writeAll({ connection, sql, time, lockTimeoutMs, maxRecordBytes, toStored }, writes) },
    async delete(id, version, call): Promise<Written | Conflict> {
      const answer = await conditional('delete', sql.remove, id, [escaped(version)], call, version);
      return isConflict(answer) ? answer : { ok: true, version };
    },
    list: (query) => scan(table, query),
    purge: (query) => purgeTable(table, uncertaintyMs, query),
    setUp: () => runMigrations({ connect: source.take }, place),
    close: () => source.close(),
  };
  return postgres.on(store, { connect: source.take, schema: options.schema, tableName: options.tableName ?? DEFAULT_TABLE_NAME, maxRecordBytes });
}

const isConflict = (answer: Row | Conflict): answer is Conflict => answer.ok === false;

function configure(options: PostgresStoreOptions) {
  checkOptions('postgresStore', options, RULES);
  const { pool, client, connectionString, schema, tableName = DEFAULT_TABLE_NAME, outboxTable } = options;
  const settings = { ...DEFAULTS, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) } as typeof DEFAULTS;
  const problems: string[] = [];
  if ([pool, client, connectionString].filter((given) => given !== undefined).length > 1)
    problems.push('only one of pool, client and connectionString can be given');
  if (settings.lockTimeoutMs >= settings.requestTimeoutMs) problems.push('lockTimeoutMs must be less than requestTimeoutMs');
  if (problems.length > 0) throw invalidOptions('postgresStore', problems);
  const { maxConnections, requestTimeoutMs: connectLimitMs } = settings;
  let source: Source;
  if (pool !== undefined) source = givenPool(pool);
  else if (client !== undefined) source = givenClient(client);
  else source = ownPool({ connectionString, maxConnections, connectLimitMs });
  const { requestTimeoutMs, lockTimeoutMs, uncertaintyMs, maxRecordBytes } = settings;
  const place: TablePlace = { schema, tableName, outboxTable };
  return { source, place, name: qualified(tableName, schema), requestTimeoutMs, lockTimeoutMs, uncertaintyMs, maxRecordBytes };
}
