/**
 * Every store that the promises are shown on: as its users reach it, and through a proxy that can spoil requests.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import pg from 'pg';
import type { RecordStore } from '../../src/core/ports.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { startAzurite } from './azurite.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from './dynamodb.ts';
import { postgresAvailable, startPostgres } from './postgres.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from './proxy.ts';
import { databaseFolder } from './sqlite-file.ts';
import { postgresFraming, startTcpFaultProxy } from './tcp-proxy.ts';

export type WireOperation = 'create' | 'replace' | 'delete' | 'read';

/** Whose client a store talks through. */
export const WIRE_CLIENTS = ['a client of our own', 'a client with the defaults of the SDK', 'a client that never tries again'] as const;
export type WireClient = (typeof WIRE_CLIENTS)[number];

export interface Wire {
  readonly proxy: FaultProxy;
  /**
   * Over the same table as `store`; every request goes through the proxy. A new client each time: SDKs stop trying again where one client has seen too
   * many failures.
   */
  open(client: WireClient): Required<Pick<RecordStore, 'close'>> & RecordStore;
  /** Whether a request is that operation on that record. */
  is(operation: WireOperation, id: string): (request: ProxiedRequest) => boolean;
}

export interface StoreSubject {
  /** Not through the proxy. */
  readonly store: RecordStore;
  readonly proxy?: FaultProxy;
  readonly wire?: Wire;
  /** A table that does not exist. Absent where there are no tables. */
  missingTable?(): RecordStore;
  /** A port on which nobody listens. */
  nowhere?(): RecordStore;
  /** The same table, seen by a clock that is so much ahead; absent where the store alone tells the time. */
  ahead?(ms: number): RecordStore;
  stop(): Promise<void>;
}

export interface SubjectKind {
  readonly name: string;
  /** What every lapse takes beyond the lease, ms. */
  readonly uncertaintyMs: number;
  /** A refused write brings the record that stands there; elsewhere it is read, with one more request. */
  readonly returnsStanding: boolean;
  /** Reached over a network: it can be down, and its table can be missing. */
  readonly remote: boolean;
  /** Default: all of them. */
  readonly wireClients?: readonly WireClient[];
  start(): Promise<StoreSubject>;
}

/** All callers of these tests share one clock, so less than the store's own allowance will do, and no test has to sit it out. */
export const withUncertainty = (store: RecordStore, uncertaintyMs: number): RecordStore => ({ ...store, clock: { ...store.clock, uncertaintyMs } });

const DYNAMODB_UNCERTAINTY_MS = 100;

export const memory: SubjectKind = {
  name: 'memory',
  uncertaintyMs: 0,
  returnsStanding: true,
  remote: false,
  start: async () => ({ store: memoryStore(), stop: async () => {} }),
};

export const sqlite: SubjectKind = { name: 'SQLite', uncertaintyMs: 0, returnsStanding: true, remote: false, start: startSqlite };

export const azureTables: SubjectKind = { name: 'Table Storage', uncertaintyMs: 1_000, returnsStanding: false, remote: true, start: startTables };

export const dynamodbLocal: SubjectKind = {
  name: 'DynamoDB Local',
  uncertaintyMs: DYNAMODB_UNCERTAINTY_MS,
  returnsStanding: true,
  remote: true,
  start: async () => dynamodbSubject(await startDynamoDbLocal()),
};

export const dynalite: SubjectKind = {
  name: 'dynalite',
  uncertaintyMs: DYNAMODB_UNCERTAINTY_MS,
  returnsStanding: false,
  remote: true,
  start: async () => dynamodbSubject(await startDynalite()),
};

export const postgres: SubjectKind = {
  name: 'PostgreSQL',
  uncertaintyMs: 0,
  returnsStanding: true,
  remote: true,
  // The driver never tries again by itself.
  wireClients: ['a client of our own', 'a client with the defaults of the SDK'],
  start: startPostgresSubject,
};

/** Under `CI=true` a missing server is a failure, elsewhere it is said in a line. */
export const postgreses = async (): Promise<readonly SubjectKind[]> => ((await postgresAvailable()) ? [postgres] : []);

/** Under `CI=true` a missing Java is a failure, elsewhere it is said in a line. */
export const dynamodbs = async (): Promise<readonly SubjectKind[]> => [...((await javaAvailable()) ? [dynamodbLocal] : []), dynalite];

export const subjects = async (): Promise<readonly SubjectKind[]> => [memory, azureTables, ...(await dynamodbs()), ...(await postgreses())];

async function startSqlite(): Promise<StoreSubject> {
  const { path, remove } = await databaseFolder();
  // As large as the limit of the other stores, so that a value can be too large for all of them.
  const store = sqliteStore({ path, maxRecordBytes: 1_048_576 });
  await store.setUp();
  return {
    store,
    ahead: (ms) => sqliteStore({ path, clock: { nowMs: () => Date.now() + ms } }),
    async stop() {
      await store.close();
      await remove();
    },
  };
}

async function startPostgresSubject(): Promise<StoreSubject> {
  const server = await startPostgres();
  const database = await server.database();
  const { port } = new URL(database.url);
  const proxy = await startTcpFaultProxy(Number(port), postgresFraming);
  const proxied = database.url.replace(`:${port}`, `:${proxy.port}`);
  // As large as the limit of the other stores, so that a value can be too large for all of them.
  const maxRecordBytes = 1_048_576;
  const store = postgresStore({ pool: database.pool(), maxRecordBytes });
  await store.setUp();
  const wire: Wire = {
    proxy,
    open(client) {
      if (client === 'a client of our own') return postgresStore({ connectionString: proxied });
      const pool = new pg.Pool({ connectionString: proxied });
      pool.on('error', () => {});
      return { ...postgresStore({ pool }), close: () => pool.end() };
    },
    is: (operation, id) => (request) => request.body.includes(POSTGRES_STATEMENTS[operation]) && concerns(request, id),
  };
  return {
    store,
    proxy,
    wire,
    missingTable: () => postgresStore({ pool: database.pool(), tableName: freshName() }),
    nowhere: () => postgresStore({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres' }),
    async stop() {
      await proxy.stop();
      await database.drop();
      await server.stop();
    },
  };
}

const POSTGRES_STATEMENTS: Readonly<Record<WireOperation, string>> = {
  create: 'INSERT INTO',
  replace: 'UPDATE',
  delete: 'DELETE FROM',
  read: '(SELECT 1) AS one',
};

async function startTables(): Promise<StoreSubject> {
  const azurite = await startAzurite({ services: ['table'] });
  const proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.tableUrl).port) });
  const tableName = freshName();
  const at = (url: string): string => azurite.connectionString.replace(/TableEndpoint=[^;]+/, `TableEndpoint=${url}/${azurite.accountName}`);
  const clientOf = (connectionString: string, table = tableName, maxRetries?: number): TableClient =>
    TableClient.fromConnectionString(connectionString, table, {
      allowInsecureConnection: true,
      ...(maxRetries === undefined ? {} : { retryOptions: { maxRetries, retryDelayInMs: 10, maxRetryDelayInMs: 20 } }),
    });
  const setting = `RERUNSAFE_TEST_${tableName}`;
  process.env[setting] = at(proxy.url);
  const store = tableStore({ client: clientOf(azurite.connectionString) });
  await store.setUp();
  const wire: Wire = {
    proxy,
    open(client) {
      if (client === 'a client of our own') return tableStore({ connection: setting, tableName });
      return tableStore({ client: clientOf(at(proxy.url), tableName, client === 'a client that never tries again' ? 0 : undefined) });
    },
    is: (operation, id) => (request) => request.method === TABLE_METHODS[operation] && concerns(request, id),
  };
  return {
    store,
    proxy,
    wire,
    missingTable: () => tableStore({ client: clientOf(azurite.connectionString, freshName()) }),
    nowhere: () => tableStore({ client: clientOf(at('http://127.0.0.1:1'), tableName, 1) }),
    async stop() {
      delete process.env[setting];
      await proxy.stop();
      await azurite.stop();
    },
  };
}

const TABLE_METHODS: Readonly<Record<WireOperation, string>> = { create: 'POST', replace: 'PUT', delete: 'DELETE', read: 'GET' };

async function dynamodbSubject(emulator: Emulator): Promise<StoreSubject> {
  const proxy = await startFaultProxy({ targetPort: Number(new URL(emulator.endpoint).port) });
  const tableName = freshName();
  const plain = dynamodbStore({ client: emulator.client(), tableName });
  await plain.setUp?.();
  const shortened = (store: RecordStore): RecordStore => withUncertainty(store, DYNAMODB_UNCERTAINTY_MS);
  const takeBack = setEnvironment(proxy.url);
  const wire: Wire = {
    proxy,
    open(client) {
      const tries = client === 'a client that never tries again' ? { maxAttempts: 1 } : {};
      const sdk = client === 'a client of our own' ? undefined : emulator.client({ endpoint: proxy.url, ...tries });
      const store = dynamodbStore({ tableName, ...(sdk === undefined ? {} : { client: sdk }) });
      return { ...shortened(store), close: async () => (sdk === undefined ? store.close?.() : sdk.destroy()) };
    },
    is: (operation, id) => (request) => dynamodbOperation(request) === operation && concerns(request, id),
  };
  return {
    store: shortened(plain),
    proxy,
    wire,
    missingTable: () => dynamodbStore({ client: emulator.client(), tableName: freshName() }),
    nowhere: () => dynamodbStore({ client: emulator.client({ endpoint: 'http://127.0.0.1:1', maxAttempts: 2 }), tableName }),
    ahead: (ms) => shortened(dynamodbStore({ client: emulator.client(), tableName, clock: { nowMs: () => Date.now() + ms } })),
    async stop() {
      takeBack();
      await proxy.stop();
      await emulator.stop();
    },
  };
}

/** What a client of our own is made from. Nothing of the machine's own may decide a test. Returns what puts it back. */
function setEnvironment(endpoint: string): () => void {
  const before = { ...process.env };
  const ours = {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  Object.assign(process.env, ours);
  return () => {
    for (const name of Object.keys(ours)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  };
}

function dynamodbOperation({ headers, body }: ProxiedRequest): WireOperation | undefined {
  switch (String(headers['x-amz-target']).split('.')[1]) {
    case 'GetItem':
      return 'read';
    case 'DeleteItem':
      return 'delete';
    case 'PutItem':
      return body.includes('attribute_not_exists') ? 'create' : 'replace';
    default:
      return undefined;
  }
}

const concerns = ({ path, body }: ProxiedRequest, id: string): boolean => path.includes(id) || body.includes(id);
const freshName = (): string => `t${randomUUID().replaceAll('-', '')}`;
