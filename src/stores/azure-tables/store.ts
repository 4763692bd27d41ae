/**
 * Records in Azure Table Storage, by ETags.
 *
 * @module
 */
import type { TableClient } from '@azure/data-tables';
import { isRerunSafeError, storeUnavailable, writeUnknown } from '../../core/errors.ts';
import { checkOptions, has, invalidOptions, isInteger, isName, type Rules } from '../../core/options.ts';
import type { CallOptions, Conflict, RecordStore, Stored, Written } from '../../core/ports.ts';
import type { RecordId } from '../../core/record.ts';
import { type Connection, own, passedIn } from './client.ts';
import { etagOf, fromEntity, isTooLarge, type Keys, keysOf, toEntity } from './entity.ts';
import type { Refusal } from './map-error.ts';
import { requester } from './request.ts';
import { list, purge, type Table } from './scan.ts';
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

/** The service takes 1 MiB of values; Azurite takes 1 MiB of the JSON they travel in, where bytes are a third longer. This suits both. */
const MAX_RECORD_BYTES = 720 * 1024;
/** A row that is refused and then not found was removed in between. That it happens three times in a row has other reasons. */
const CREATE_ROUNDS = 3;

const RULES: Rules = {
  client: has('createEntity', 'updateEntity', 'getEntity', 'deleteEntity', 'listEntities', 'createTable'),
  connection: isName(256),
  tableName: (value) =>
    typeof value === 'string' && /^[A-Za-z][A-Za-z0-9]{2,62}$/.test(value)
      ? undefined
      : 'must be 3 to 63 letters and digits, beginning with a letter',
  partitions: isInteger(1, 65_536),
  uncertaintyMs: isInteger(1_000),
  requestTimeoutMs: isInteger(1),
  maxRetries: isInteger(0, 10),
};

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
export function tableStore(options: TableStoreOptions = {}): Required<RecordStore> {
  const connection = connect(options);
  const { partitions = 256, uncertaintyMs = 1_000 } = options;
  const clock = serviceClock();
  const request = requester(connection.client, connection.limitMs, clock);
  const keys = (id: RecordId): Keys => keysOf(id, partitions);

  const read: RecordStore['read'] = async (id, call) => {
    const { partitionKey, rowKey } = keys(id);
    const answer = await request('read a record', 'harmless', (client, sdk) => client.getEntity(partitionKey, rowKey, sdk), call?.signal);
    if (answer.refused === 'absent') return undefined;
    if (answer.refused !== undefined) throw storeUnavailable('read a record', answer.cause);
    const record = fromEntity(answer.value);
    return { record, version: etagOf(answer.value), ageMs: Math.max(0, answer.dateMs - record.writtenAtMs) };
  };

  const create: RecordStore['create'] = async (id, record, call) => {
    const entity = toEntity(keys(id), record);
    if (isTooLarge(entity, MAX_RECORD_BYTES)) return TOO_LARGE;
    for (let round = 1; ; round++) {
      const answer = await request('create a record', 'write', (client, sdk) => client.createEntity(entity, sdk), call?.signal);
      if (answer.refused === undefined) return written(answer.value);
      if (answer.refused === 'too-large') return TOO_LARGE;
      const current = await standing(read, id, answer, call);
      if (current !== undefined || round === CREATE_ROUNDS) return { ok: false, reason: 'conflict', current };
    }
  };

  const replace: RecordStore['replace'] = async (id, record, version, call) => {
    const entity = toEntity(keys(id), record);
    if (isTooLarge(entity, MAX_RECORD_BYTES)) return TOO_LARGE;
    // The SDK's own default is `*`: whatever stands there.
    const update = { etag: version };
    const answer = await request(
      'replace a record',
      'write',
      (client, sdk) => client.updateEntity(entity, 'Replace', { ...sdk, ...update }),
      call?.signal,
    );
    if (answer.refused === undefined) return written(answer.value);
    return answer.refused === 'too-large' ? TOO_LARGE : conflict(await standing(read, id, answer, call));
  };

  const remove: RecordStore['delete'] = async (id, version, call) => {
    const { partitionKey, rowKey } = keys(id);
    const drop = { etag: version };
    const answer = await request(
      'delete a record',
      'write',
      (client, sdk) => client.deleteEntity(partitionKey, rowKey, { ...sdk, ...drop }),
      call?.signal,
    );
    return answer.refused === undefined ? { ok: true, version } : conflict(await standing(read, id, answer, call));
  };

  const table: Table = { request, uncertaintyMs, nowMs: clock.nowMs, remove };
  return {
    name: 'azure-tables',
    limits: { maxRecordBytes: MAX_RECORD_BYTES, inlineBytes: 64 * 1024, maxKeyBytes: 512 },
    clock: { source: 'store', uncertaintyMs, nowMs: clock.nowMs },
    read,
    create,
    replace,
    delete: remove,
    list: (query) => list(table, query),
    purge: (query) => purge(table, query),
    async setUp() {
      // The SDK takes "already exists" for success.
      await request('create the table', 'harmless', (client, sdk) => client.createTable(sdk));
    },
    close: async () => connection.close(),
  };
}

const TOO_LARGE = { ok: false, reason: 'too-large' } as const;
const written = (headers: object): Written => ({ ok: true, version: etagOf(headers as Record<string, unknown>) });
const conflict = (current: Stored | undefined): Conflict => ({ ok: false, reason: 'conflict', current });

/** What stands there after a refusal. Where an earlier try may have been applied and this cannot be looked up, the write is in doubt. */
async function standing(read: RecordStore['read'], id: RecordId, refusal: Refusal, call?: CallOptions): Promise<Stored | undefined> {
  if (refusal.refused === 'absent') return undefined;
  try {
    return await read(id, call);
  } catch (error) {
    if (refusal.doubt && isRerunSafeError(error, 'STORE_UNAVAILABLE')) throw writeUnknown('a refused write could not be looked up', error);
    throw error;
  }
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
