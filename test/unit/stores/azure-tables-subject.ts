/**
 * Azurite behind a proxy, and stores on tables of their own.
 *
 * @module
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import type { Listed, ListQuery, PartsStore, RecordStore } from '../../../src/core/ports.ts';
import { type TableStoreOptions, tableStore } from '../../../src/stores/azure-tables/index.ts';
import { sample as record } from '../../../src/testing/record-store/subject.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type FaultProxy, type LoggedRequest, startFaultProxy } from '../../support/proxy.ts';

export { record };

export interface Subject {
  readonly azurite: Azurite;
  readonly proxy: FaultProxy;
  /** Names the proxy as the table endpoint. */
  readonly connectionString: string;
  /** A client through the proxy, with the SDK's retries kept short; its table does not exist yet. */
  client(tableName?: string): TableClient;
  /** A store whose own client goes through the proxy; its table exists. */
  ownStore(options?: Omit<TableStoreOptions, 'client'>): Promise<PartsStore>;
  stop(): Promise<void>;
}

export const freshTable = (): string => `t${randomUUID().replaceAll('-', '')}`;
export const freshId = (): string => randomBytes(34).toString('base64url');

export const put = async (store: RecordStore, id: string, changes: Parameters<typeof record>[0] = {}): Promise<string> => {
  const result = await store.create(id, record(changes));
  if (!result.ok) throw new Error('expected the record to be created');
  return result.version;
};

export const all = async (store: RecordStore, query: ListQuery): Promise<Listed[]> => {
  const found: Listed[] = [];
  for await (const one of store.list(query)) found.push(one);
  return found;
};

export const isWrite = ({ method }: { method: string }): boolean => method !== 'GET';
export const methods = (requests: readonly LoggedRequest[]): string[] => requests.map(({ method, status }) => `${method} ${status}`);

/** For this client the service's clock is ahead by so many ms: rows age without waiting. */
export function laterClient(client: TableClient, aheadMs: () => number): TableClient {
  client.pipeline.addPolicy({
    name: 'later',
    async sendRequest(request, next) {
      const response = await next(request);
      response.headers.set('date', new Date(Date.parse(response.headers.get('date') ?? '') + aheadMs()).toUTCString());
      return response;
    },
  });
  return client;
}

export async function startSubject(): Promise<Subject> {
  const azurite = await startAzurite({ services: ['table'] });
  const proxy = await startFaultProxy({ targetPort: Number(new URL(azurite.tableUrl).port) });
  const connectionString = azurite.connectionString.replace(/TableEndpoint=[^;]+/, `TableEndpoint=${proxy.url}/${azurite.accountName}`);
  const retryOptions = { maxRetries: 2, retryDelayInMs: 10, maxRetryDelayInMs: 20 };
  const setting = `RERUNSAFE_TEST_${randomUUID().replaceAll('-', '')}`;
  process.env[setting] = connectionString;
  return {
    azurite,
    proxy,
    connectionString,
    client: (tableName = freshTable()) =>
      TableClient.fromConnectionString(connectionString, tableName, { allowInsecureConnection: true, retryOptions }),
    async ownStore(options = {}) {
      const store = tableStore({ connection: setting, tableName: freshTable(), ...options });
      await store.setUp();
      proxy.clear();
      return store;
    },
    async stop() {
      delete process.env[setting];
      await proxy.stop();
      await azurite.stop();
    },
  };
}
