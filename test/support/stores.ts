/**
 * Every store that the promises are shown on: as its users reach it, and through a proxy that can spoil requests.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import type { RecordStore } from '../../src/core/ports.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { startAzurite } from './azurite.ts';
import { type Emulator, javaAvailable, startDynalite, startDynamoDbLocal } from './dynamodb.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from './proxy.ts';

export type WireOperation = 'create' | 'replace' | 'delete' | 'read';

export interface Wire {
  readonly proxy: FaultProxy;
  /** Over the same table as `store`; every request goes through the proxy. */
  readonly clients: Readonly<Record<'a client of our own' | 'a client with the defaults of the SDK', RecordStore>>;
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

export const subjects = async (): Promise<readonly SubjectKind[]> => [memory, azureTables, ...(await dynamodbs())];

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
  const own = tableStore({ connection: setting, tableName });
  const wire: Wire = {
    proxy,
    clients: { 'a client of our own': own, 'a client with the defaults of the SDK': tableStore({ client: clientOf(at(proxy.url)) }) },
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
      await own.close();
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
  const own = await ownClient(tableName, proxy.url);
  const wire: Wire = {
    proxy,
    clients: {
      'a client of our own': shortened(own),
      'a client with the defaults of the SDK': shortened(dynamodbStore({ client: emulator.client({ endpoint: proxy.url }), tableName })),
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
      await own.close?.();
      await proxy.stop();
      await emulator.stop();
    },
  };
}

/** The environment is read once, when the client sends its first request. */
async function ownClient(tableName: string, endpoint: string): Promise<RecordStore> {
  const before = { ...process.env };
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  });
  try {
    const store = dynamodbStore({ tableName });
    await store.read(randomUUID());
    return store;
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
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
