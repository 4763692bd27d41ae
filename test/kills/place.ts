/**
 * A store as several processes reach it, with counters beside it that only fenced writes may change. Loads the one SDK that it needs: of a process that
 * is killed within a second, loading all of them would be the larger part.
 *
 * @module
 */
import { storeUnavailable } from '../../src/core/errors.ts';
import type { Fence, LeaseProvider, RecordStore } from '../../src/core/ports.ts';
import type { Run } from '../../src/core/run.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { type WrongName, wrongStore } from './wrong.ts';

/** Plain JSON: handed to each process. */
export type Place = (
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string }
  | { readonly kind: 'azure-tables'; readonly connectionString: string; readonly tableName: string }
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 'azure-blob'; readonly connectionString: string; readonly containerName: string }
) & {
  /** The engine is spoilt by that: to see that it is found. */
  readonly wrong?: WrongName;
};

export interface Counter {
  /** Keeps lower tokens out from now on, and reads. */
  claim(fence: Fence): Promise<number>;
  write(fence: Fence, n: number): Promise<unknown>;
}

export interface Opened {
  /** Absent where there are leases only. */
  readonly store: RecordStore;
  leases(store: RecordStore): LeaseProvider;
  counter(name: string): Counter;
  /** Data of the caller's that is written with the completion, in one transaction; where that is not killed at every point elsewhere. */
  readonly commit?: Commit;
  close(): Promise<void>;
}

interface Commit {
  /** Where the record of such a run has to lie. */
  readonly store: RecordStore;
  with(run: Run<string[]>, value: string[], name: string): Promise<void>;
  /** How often that was written. */
  times(name: string): Promise<number>;
}

/** Where nobody knows a store's records, there are its leases. */
export const NO_STORE = { name: 'none' } as RecordStore;

export async function openPlace(place: Place): Promise<Opened> {
  const opened = await open(place);
  return place.wrong === undefined ? opened : { ...opened, store: wrongStore(place.wrong, opened.store) };
}

async function open(place: Place): Promise<Opened> {
  switch (place.kind) {
    case 'sqlite':
      return openSqlite(place.path);
    case 'postgres':
      return openPostgres(place.url);
    case 'redis':
      return openRedis(place.url);
    case 'dynamodb':
      return openDynamodb(place.endpoint, place.tableName);
    case 'azure-tables':
      return openTables(place.connectionString, place.tableName);
    case 'file':
      return openFile(place.directory);
    case 'azure-blob':
      return openBlob(place.connectionString, place.containerName);
  }
}

async function openSqlite(path: string): Promise<Opened> {
  const [{ DatabaseSync }, { fencedTransaction, sqliteStore }] = await Promise.all([
    import('node:sqlite'),
    import('../../src/stores/sqlite/index.ts'),
  ]);
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, n INTEGER) STRICT',
  );
  database.exec('PRAGMA busy_timeout = 0');
  const store = sqliteStore({ path });
  const read = (name: string): number => (database.prepare('SELECT n FROM counter WHERE name = ?').get(name) as { n: number } | undefined)?.n ?? 0;
  return {
    store,
    leases: storeLeases,
    counter: (name) => ({
      claim: (fence) => fencedTransaction(database, fence, () => read(name)),
      write: (fence, n) => fencedTransaction(database, fence, (db) => db.prepare('INSERT OR REPLACE INTO counter VALUES (?, ?)').run(name, n)),
    }),
    async close() {
      database.close();
      await store.close();
    },
  };
}

async function openPostgres(url: string): Promise<Opened> {
  const [{ Pool }, postgres] = await Promise.all([import('pg'), import('../../src/stores/postgres/index.ts')]);
  const pool = new Pool({ connectionString: url, max: 10, allowExitOnIdle: true });
  // Of idle connections, when the server goes down.
  pool.on('error', () => {});
  const own = postgres.postgresStore({ pool });
  // What the driver says of a statement of the work comes through as it is: of a server that died before COMMIT, that nothing was written.
  const asked = <T>(query: Promise<T>): Promise<T> =>
    query.catch((error: unknown) => {
      throw storeUnavailable('a statement of the work', error);
    });
  return {
    store: {
      ...own,
      async setUp() {
        await own.setUp();
        await pool.query('CREATE TABLE IF NOT EXISTS counter (name text PRIMARY KEY, n bigint)');
      },
    },
    leases: storeLeases,
    counter: (name) => ({
      claim: (fence) =>
        postgres.fencedTransaction(pool, fence, async (tx) =>
          Number((await asked(tx.query('SELECT n FROM counter WHERE name = $1', [name]))).rows[0]?.n ?? 0),
        ),
      write: (fence, n) =>
        postgres.fencedTransaction(pool, fence, (tx) =>
          asked(tx.query('INSERT INTO counter VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET n = excluded.n', [name, n])),
        ),
    }),
    close: () => pool.end(),
  };
}

async function openRedis(url: string): Promise<Opened> {
  const [{ createClient }, { commitWith, fencedScript, redisStore }] = await Promise.all([
    import('redis'),
    import('../../src/stores/redis/index.ts'),
  ]);
  const client = createClient({ url, socket: { reconnectStrategy: 50 } });
  client.on('error', () => {});
  await client.connect();
  const script = (text: string, name: string, ...given: string[]) => ({ script: text, keys: [`{rerunsafe}counter:${name}`], arguments: given });
  const store = redisStore({ client, acceptFailoverLoss: true });
  return {
    store,
    leases: storeLeases,
    counter: (name) => ({
      claim: async (fence) => Number((await fencedScript(client, fence, script("return redis.call('GET', KEYS[1])", name))) ?? 0),
      write: (fence, n) => fencedScript(client, fence, script("return redis.call('SET', KEYS[1], ARGV[1])", name, String(n))),
    }),
    commit: {
      store,
      with: (run, value, name) => commitWith(run, value, script("return redis.call('INCR', KEYS[1])", name)),
      times: async (name) => Number((await client.get(`{rerunsafe}counter:${name}`)) ?? 0),
    },
    close: async () => client.destroy(),
  };
}

async function openDynamodb(endpoint: string, TableName: string): Promise<Opened> {
  const [{ DynamoDBClient }, { dynamodbStore, fencedPut, fencedUpdate }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('../../src/stores/dynamodb/index.ts'),
  ]);
  const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
  const keyOf = (name: string) => ({ id: { S: `counter ${name}` } });
  return {
    store: withSmallParts(dynamodbStore({ client, tableName: TableName })),
    leases: storeLeases,
    counter: (name) => ({
      claim: async (fence) => {
        const { Attributes } = await fencedUpdate(client, fence, { TableName, Key: keyOf(name), ReturnValues: 'ALL_NEW' });
        return Number(Attributes?.n?.N ?? 0);
      },
      write: (fence, n) => fencedPut(client, fence, { TableName, Item: { ...keyOf(name), n: { N: String(n) } } }),
    }),
    close: async () => client.destroy(),
  };
}

async function openTables(connectionString: string, tableName: string): Promise<Opened> {
  const [{ TableClient }, { commitWith, fencedClaim, fencedUpsert, tableStore }] = await Promise.all([
    import('@azure/data-tables'),
    import('../../src/stores/azure-tables/index.ts'),
  ]);
  const client = TableClient.fromConnectionString(connectionString, tableName, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 2, retryDelayInMs: 50, maxRetryDelayInMs: 200 },
  });
  const keysOf = (name: string) => ({ partitionKey: 'counters', rowKey: name });
  const partitionKey = 'committed';
  const store = tableStore({ client });
  return {
    store: withSmallParts(store),
    leases: storeLeases,
    counter: (name) => ({
      claim: async (fence) => (await fencedClaim<{ n?: number }>(client, fence, keysOf(name))).entity?.n ?? 0,
      write: (fence, n) => fencedUpsert(client, fence, { ...keysOf(name), n }),
    }),
    commit: {
      store: store.inPartition(partitionKey),
      // Of two that came through both rows would stand.
      with: (run, value, name) => commitWith(run, value, [['create', { partitionKey, rowKey: `${name} ${run.attempt}` }]]),
      async times(name) {
        let rows = 0;
        for await (const { rowKey } of client.listEntities({ queryOptions: { filter: `PartitionKey eq '${partitionKey}'` } }))
          if (rowKey?.startsWith(`${name} `)) rows += 1;
        return rows;
      },
    },
    close: async () => {},
  };
}

async function openFile(directory: string): Promise<Opened> {
  const [{ join }, { fencedClaimFile, fencedWriteFile, fileLeases }] = await Promise.all([
    import('node:path'),
    import('../../src/leases/file/index.ts'),
  ]);
  const leases = fileLeases({ directory: join(directory, 'leases') });
  return {
    store: NO_STORE,
    leases: () => leases,
    counter: (name) => ({
      claim: async (fence) => Number((await fencedClaimFile(join(directory, name), fence)).data?.toString() ?? 0),
      write: (fence, n) => fencedWriteFile(join(directory, name), fence, String(n)),
    }),
    close: async () => {},
  };
}

async function openBlob(connectionString: string, containerName: string): Promise<Opened> {
  const [{ BlobServiceClient }, { blobLeases, fencedUpload }] = await Promise.all([
    import('@azure/storage-blob'),
    import('../../src/leases/azure-blob/index.ts'),
  ]);
  const retryOptions = { maxTries: 3, retryDelayInMs: 50, maxRetryDelayInMs: 200 };
  const container = BlobServiceClient.fromConnectionString(connectionString, { retryOptions }).getContainerClient(containerName);
  const leases = blobLeases({ container, prefix: 'leases/' });
  return {
    store: NO_STORE,
    leases: () => leases,
    // A blob is fenced from a holder's first write to it, which cannot keep what stands there.
    counter: (name) => ({
      claim: async (fence) => {
        await fencedUpload(container.getBlockBlobClient(name), fence, '0');
        return 0;
      },
      write: (fence, n) => fencedUpload(container.getBlockBlobClient(name), fence, String(n)),
    }),
    close: async () => {},
  };
}

/** What is beside a record lies in several parts before it is as large as the service demands: the way is the same, and cheaper. */
function withSmallParts<S extends RecordStore>(store: S): S {
  const { parts } = store.limits;
  return parts === undefined ? store : { ...store, limits: { ...store.limits, inlineBytes: 2_000, parts: { ...parts, bytesEach: 2_000 } } };
}
