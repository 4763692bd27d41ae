/**
 * Every store that the promises are shown on: as its users reach it, and through a proxy that can spoil requests.
 *
 * @module
 */
import { Agent } from 'node:http';
import { TableClient } from '@azure/data-tables';
import type { RecordStore } from '../../src/core/ports.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { startAzurite } from './azurite.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from './dynamodb.ts';
import { type ProxiedRequest, startFaultProxy } from './proxy.ts';
import { databaseFolder } from './sqlite-file.ts';
import { postgreses, redises } from './stores-servers.ts';
import { concerns, freshName, type StoreSubject, type SubjectKind, type Wire, type WireOperation } from './subject.ts';

export { postgreses, redises } from './stores-servers.ts';
export { type StoreSubject, type SubjectKind, WIRE_CLIENTS, type Wire, type WireClient, type WireOperation } from './subject.ts';

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

/** Under `CI=true` a missing Java is a failure, elsewhere it is said in a line. */
export const dynamodbs = async (): Promise<readonly SubjectKind[]> => [...((await javaAvailable()) ? [dynamodbLocal] : []), dynalite];

export const subjects = async (): Promise<readonly SubjectKind[]> => [
  memory,
  azureTables,
  ...(await dynamodbs()),
  ...(await postgreses()),
  ...(await redises()),
];

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

/** With connections of its own. Those of the SDK are one pool for the process: one that a fault is about to close would be handed to somebody else. */
function alone(client: TableClient): TableClient {
  const agent = new Agent({ keepAlive: true });
  client.pipeline.addPolicy({
    name: 'alone',
    sendRequest(request, next) {
      request.agent = agent;
      return next(request);
    },
  });
  return client;
}

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
      return tableStore({ client: alone(clientOf(at(proxy.url), tableName, client === 'a client that never tries again' ? 0 : undefined)) });
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
