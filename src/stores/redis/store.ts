/**
 * Records in Redis, by scripts.
 *
 * @module
 */
import { checkOptions, isBoolean, isInteger, isName, type Rules } from '../../core/options.ts';
import type { PlainStore } from '../../core/ports.ts';
import { purgeTable, scan, type Table } from './clean-up.ts';
import { isClient, type RedisClient } from './client.ts';
import { connect, DEFAULT_REQUEST_TIMEOUT_MS } from './connection.ts';
import { redis } from './internals.ts';
import { rowsOf } from './rows.ts';
import { checkEviction } from './set-up.ts';

export interface RedisStoreOptions {
  /** A connected client of the package `redis` (5, 6: client, pool, cluster, sentinel) or `ioredis` (5, 6: client, cluster). It stays yours to close. */
  readonly client: RedisClient;
  /**
   * Before the id of every record, and of no other key. Default `{rerunsafe}:`. What is in braces is a hash tag: in a cluster all records share one slot, and
   * so one server, with your keys of that tag, as `fencedScript` and `commitWith` need it. `{orders}:rerunsafe:` puts them beside your `{orders}:…`. Without
   * a tag, like `rerunsafe:`, records are spread over the cluster, and those two take no keys there.
   */
  readonly prefix?: string;
  /** The longest a call may take in all, ms, also while the client has no connection. Default 5000. A write that arrives later does nothing. */
  readonly requestTimeoutMs?: number;
  /** How far the clock of a server that takes over may be from the one before, ms. Default 0: there is one server, and it tells the time. */
  readonly uncertaintyMs?: number;
  /** The largest record, bytes. Default 1 MiB, at most 64 MiB: while the server handles one, all others wait. */
  readonly maxRecordBytes?: number;
  /**
   * You accept that records can be lost when a replica takes over, or when the server comes back without its last writes: then work that was done is done
   * again. Default false: `onUnknown: 'block'`, which promises that it never is, is refused.
   */
  readonly acceptFailoverLoss?: boolean;
}

export const DEFAULT_PREFIX = '{rerunsafe}:';
export const isPrefix = isName(200);
export const isRequestTimeout = isInteger(1, 2_147_483_647);

const RULES: Rules = {
  client: isClient,
  prefix: isPrefix,
  requestTimeoutMs: isRequestTimeout,
  uncertaintyMs: isInteger(0),
  maxRecordBytes: isInteger(1_000, 64 * 1_048_576),
  acceptFailoverLoss: isBoolean,
};

/**
 * Keeps records in Redis (6.2 or later), each as a hash. Fast, and only as durable as the server: replication is asynchronous, so what was answered can be
 * lost in a failover, and with the default persistence also the last second before a crash. Where that costs money, take PostgreSQL, DynamoDB or Table
 * Storage. See docs/redis.md.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options. From `setUp()`: `STORE_MISCONFIGURED` where a full server would throw records away.
 *
 * @example
 * const client = await createClient({ url: 'redis://localhost:6379' }).on('error', console.error).connect();
 * const store = redisStore({ client });
 * await runOnce({ store, operation: 'mail/welcome', key: user.id }, () => sendWelcome(user));
 */
export function redisStore(options: RedisStoreOptions): PlainStore {
  checkOptions('redisStore', options, RULES, ['client']);
  const { client, prefix = DEFAULT_PREFIX, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, uncertaintyMs = 0 } = options;
  const { maxRecordBytes = 1_048_576, acceptFailoverLoss = false } = options;
  const connection = connect(client, requestTimeoutMs);
  const rows = rowsOf({ connection, prefix, uncertaintyMs, maxRecordBytes });
  const table: Table = { connection, rows, prefix };

  const store: PlainStore = {
    name: 'redis',
    limits: { maxRecordBytes, inlineBytes: maxRecordBytes, maxKeyBytes: 1024, losesOnFailover: !acceptFailoverLoss },
    clock: { source: 'store', uncertaintyMs, nowMs: connection.time.nowMs },
    read: (id, call) => rows.find(id, call),
    create: (id, record, call) => rows.put(id, record, undefined, call),
    replace: (id, record, version, call) => rows.put(id, record, version, call),
    delete: (id, version, call) => rows.remove(id, version, call),
    list: (query) => scan(table, query),
    purge: (query) => purgeTable(table, uncertaintyMs, query),
    setUp: () => checkEviction(connection),
    // The client is the caller's.
    close: async () => {},
  };
  return redis.on(store, { rows });
}
