/**
 * Stores on emulators and servers of this machine, opened through clients that count what they send. In any number of processes: a place is plain JSON.
 *
 * @module
 */
import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { Pool, type PoolClient } from 'pg';
import { createClient } from 'redis';
import type { RecordStore } from 'rerunsafe';
import { tableStore } from 'rerunsafe/azure-tables';
import { dynamodbStore } from 'rerunsafe/dynamodb';
import { postgresStore } from 'rerunsafe/postgres';
import { redisStore } from 'rerunsafe/redis';
import { sqliteStore } from 'rerunsafe/sqlite';
import { startAzurite } from '../../test/support/azurite.ts';
import { startDynamoDbLocal } from '../../test/support/dynamodb.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { startRedis } from '../../test/support/redis.ts';
import { databaseFolder } from '../../test/support/sqlite-file.ts';

/** `name`: of a table, or of a database of Redis (0 to 15). */
export type Place =
  | { readonly kind: 'redis'; readonly at: string; readonly name: string }
  | { readonly kind: 'postgres'; readonly at: string; readonly name: string }
  | { readonly kind: 'dynamodb'; readonly at: string; readonly name: string }
  | { readonly kind: 'azure-tables'; readonly at: string; readonly name: string }
  | { readonly kind: 'sqlite'; readonly at: string; readonly name: string };

export type Kind = Place['kind'];

export interface Server {
  readonly kind: Kind;
  readonly at: string;
  stop(): Promise<void>;
}

export const TITLES: Readonly<Record<Kind, string>> = {
  redis: 'Redis',
  postgres: 'PostgreSQL',
  dynamodb: 'DynamoDB Local',
  'azure-tables': 'Table Storage (Azurite)',
  sqlite: 'SQLite',
};

export async function startServer(kind: Kind): Promise<Server> {
  switch (kind) {
    case 'redis': {
      const { url: at, stop } = await startRedis();
      return { kind, at, stop };
    }
    case 'postgres': {
      const server = await startPostgres();
      const { url: at } = await server.database();
      return { kind, at, stop: server.stop };
    }
    case 'dynamodb': {
      const { endpoint: at, stop } = await startDynamoDbLocal();
      return { kind, at, stop };
    }
    case 'azure-tables': {
      const { connectionString: at, stop } = await startAzurite({ services: ['table'] });
      return { kind, at, stop };
    }
    case 'sqlite': {
      const { path, remove } = await databaseFolder();
      return { kind, at: path, stop: remove };
    }
  }
}

export interface Counted {
  readonly store: RecordStore;
  /** Sent since it was opened, repeats by the SDK included. SQLite: calls of the store. */
  requests(): number;
  close(): Promise<void>;
}

/** Connections of each process, where a client has several. */
const CONNECTIONS = 10;

export async function open({ kind, at, name }: Place): Promise<Counted> {
  let sent = 0;
  const counting = <T>(send: () => T): T => {
    sent += 1;
    return send();
  };
  const requests = (): number => sent;
  switch (kind) {
    case 'redis': {
      const client = await createClient({ url: at, database: Number(name) })
        .on('error', () => {})
        .connect();
      const counted = { sendCommand: (...args: Parameters<typeof client.sendCommand>) => counting(() => client.sendCommand(...args)) };
      return { store: redisStore({ client: counted, acceptFailoverLoss: true }), requests, close: async () => client.destroy() };
    }
    case 'postgres': {
      const pool = new Pool({ connectionString: at, max: CONNECTIONS });
      const counted = (client: PoolClient) => ({
        query: (text: string, values?: unknown[]) => counting(() => client.query(text, values)),
        release: (error?: Error | boolean) => client.release(error),
      });
      const store = postgresStore({
        pool: { query: (text, values) => counting(() => pool.query(text, values)), connect: async () => counted(await pool.connect()) },
        tableName: name,
      });
      return { store, requests, close: () => pool.end() };
    }
    case 'dynamodb': {
      const client = new DynamoDBClient({ endpoint: at, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
      client.middlewareStack.add((next) => (args) => counting(() => next(args)), { step: 'finalizeRequest', priority: 'low', name: 'count' });
      return { store: dynamodbStore({ client, tableName: name }), requests, close: async () => client.destroy() };
    }
    case 'azure-tables': {
      const client = TableClient.fromConnectionString(at, name, { allowInsecureConnection: true });
      client.pipeline.addPolicy({ name: 'count', sendRequest: (request, next) => counting(() => next(request)) }, { afterPhase: 'Sign' });
      return { store: tableStore({ client }), requests, close: async () => {} };
    }
    case 'sqlite': {
      const database = new DatabaseSync(`${at}-${name}`);
      database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      return { store: callsCounted(sqliteStore({ database }), counting), requests, close: async () => database.close() };
    }
  }
}

const CALLS: ReadonlySet<string> = new Set(['read', 'create', 'replace', 'delete', 'writeAll']);

const callsCounted = (store: RecordStore, counting: <T>(call: () => T) => T): RecordStore =>
  Object.fromEntries(
    Object.entries(store).map(([name, member]: [string, unknown]) => {
      if (!CALLS.has(name)) return [name, member];
      const call = member as (...args: unknown[]) => unknown;
      return [name, (...args: unknown[]) => counting(() => call(...args))];
    }),
  ) as unknown as RecordStore;
