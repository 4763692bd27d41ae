/**
 * Records in Azure Table Storage, by ETags.
 *
 * @module
 */
import type { TableClient } from '@azure/data-tables';
import { checkOptions, has, invalidOptions, isInteger, isName, type Rules } from '../../core/options.ts';
import type { ListQuery, PartsStore } from '../../core/ports.ts';
import { type Connection, own, passedIn } from './client.ts';
import { azureTables } from './internals.ts';
import { PART_LIMITS, partsAt } from './parts.ts';
import { DEFAULT_PARTITIONS, isPartitionKey, isPartitions, type Place } from './place.ts';
import { MAX_RECORD_BYTES, recordsAt } from './records.ts';
import { requester } from './request.ts';
import { type ListedInTable, list, purge, type Table } from './scan.ts';
import { serviceClock } from './service-clock.ts';

export type TableStoreOptions = CommonOptions & (GivenClient | OwnClient);

interface CommonOptions {
  /** Over how many partitions records spread. Default 256. Fixed for the life of a table: with another number, older records are not found. */
  readonly partitions?: number;
  /** How far the clocks of the service's machines may be apart, ms. Default 1000, which is also the least: response dates are cut to seconds. */
  readonly uncertaintyMs?: number;
  /** ms, default 5000. The longest one try may take; with a `client` of yours, one call with all its tries. */
  readonly requestTimeoutMs?: number;
}

interface GivenClient {
  /**
   * A `TableClient` of `@azure/data-tables` 13, which names the table. It stays yours; only an onlooker joins its pipeline, which sees what each of the
   * SDK's tries came to. Keep its retries short (`retryOptions`): the SDK's default waits add up to more than a request's limit.
   */
  readonly client: TableClient;
}

interface OwnClient {
  readonly client?: undefined;
  /** The setting, or the prefix of settings, that says where the storage account is. Default `AzureWebJobsStorage`. */
  readonly connection?: string;
  /** Default `rerunsafe`. */
  readonly tableName?: string;
  /** Further tries after a failed one, 100 ms to 1 s apart. Default 2. */
  readonly maxRetries?: number;
}

/** The service charges for the request, whatever its size: a part would only cost one more. The rest is for the columns. */
const INLINE_BYTES = 640 * 1024;

const RULES: Rules = {
  client: has('createEntity', 'updateEntity', 'getEntity', 'deleteEntity', 'listEntities', 'createTable'),
  connection: isName(256),
  tableName: (value) =>
    typeof value === 'string' && /^[A-Za-z][A-Za-z0-9]{2,62}$/.test(value)
      ? undefined
      : 'must be 3 to 63 letters and digits, beginning with a letter',
  partitions: isPartitions,
  uncertaintyMs: isInteger(1_000),
  requestTimeoutMs: isInteger(1),
  maxRetries: isInteger(0, 10),
};

export interface TableStore extends PartsStore {
  /** Also what is pinned to partitions of yours, and these carry their `partitionKey`. Reads through the whole table, your rows included. */
  list(query: ListQuery): AsyncIterable<ListedInTable>;
  /**
   * A store over the same table and connection whose records lie in this partition of yours, beside the rows that `commitWith` and `fencedTransaction`
   * are to write with them: the service has no transactions over several partitions. Their row keys begin with `rerunsafe.`; yours must not.
   *
   * The partition is part of where a record is: a key must always come with the same one (a tenant, a customer, an order), or it guards nothing. `list`
   * and `purge` of this store look at this partition, those of the store it comes from at the whole table. One partition takes 2,000 rows a second.
   *
   * @throws RerunSafeError `INVALID_OPTIONS`
   *
   * @example const orders = store.inPartition(`customer-${customerId}`);
   */
  inPartition(partitionKey: string): PartsStore;
}

/**
 * Keeps records in Azure Table Storage (or Cosmos DB for Table). Reads are strongly consistent; each write is one request on condition of the ETag. A
 * refused write costs a second request: the service does not say what stands there.
 *
 * Without a `client`, one is made on first use from the settings of the function app: a connection string in `AzureWebJobsStorage`, or
 * `AzureWebJobsStorage__tableServiceUri` (or `__serviceUri`, `__accountName`) with an identity (`__credential`, `__clientId`; role "Storage Table Data
 * Contributor").
 *
 * @throws RerunSafeError `INVALID_OPTIONS` for wrong or unknown options. A missing setting is `STORE_MISCONFIGURED`, on first use.
 *
 * @example
 * const store = tableStore();
 * await store.setUp(); // once, when deploying: makes the table
 * await runOnce({ store, operation: 'payments/charge', key: orderId }, (run) => charge(order, run.keyFor('charge')));
 */
export function tableStore(options: TableStoreOptions = {}): TableStore {
  const connection = connect(options);
  const { partitions = DEFAULT_PARTITIONS, uncertaintyMs = 1_000 } = options;
  const clock = serviceClock();
  const request = requester(connection.client, connection.limitMs, clock);

  async function* withStores(found: AsyncIterable<ListedInTable>): AsyncGenerator<ListedInTable> {
    for await (const one of found) yield one.partitionKey === undefined ? one : { ...one, store: storeAt({ partitionKey: one.partitionKey }) };
  }

  const storeAt = (place: Place): PartsStore => {
    const table: Table = { request, uncertaintyMs, place, nowMs: clock.nowMs };
    const records = recordsAt(request, place);
    const store: PartsStore = {
      ...records,
      ...partsAt(request, place),
      name: 'azure-tables',
      limits: { maxRecordBytes: MAX_RECORD_BYTES, inlineBytes: INLINE_BYTES, maxKeyBytes: 512, parts: PART_LIMITS },
      clock: { source: 'store', uncertaintyMs, nowMs: clock.nowMs },
      list: (query) => withStores(list(table, query)),
      purge: (query) => purge(table, query),
      async setUp() {
        // The SDK takes "already exists" for success.
        await request('create the table', 'harmless', (client, sdk) => client.createTable(sdk));
      },
      close: async () => connection.close(),
    };
    return azureTables.on(store, { request, place, read: records.read });
  };

  return Object.assign(storeAt({ partitions }), {
    inPartition(partitionKey: string) {
      checkOptions('inPartition', { partitionKey }, { partitionKey: isPartitionKey }, ['partitionKey']);
      return { ...storeAt({ partitionKey }), close: async () => {} };
    },
  });
}

function connect(options: TableStoreOptions): Connection {
  checkOptions('tableStore', options, RULES);
  const { client, requestTimeoutMs = 5_000, ...rest } = options;
  if (client === undefined) {
    const { connection = 'AzureWebJobsStorage', tableName = 'rerunsafe', maxRetries = 2 } = rest as OwnClient;
    return own({ connection, tableName, maxRetries, requestTimeoutMs });
  }
  const needless = ['connection', 'tableName', 'maxRetries'].filter((name) => (rest as Record<string, unknown>)[name] !== undefined);
  if (needless.length > 0)
    throw invalidOptions(
      'tableStore',
      needless.map((name) => `${name} has no effect beside client, which brings its own`),
    );
  return passedIn(client, requestTimeoutMs);
}
