/**
 * A backend, as each process reaches it: plain JSON, and what is made of it. Only the SDK of that backend is loaded.
 *
 * @module
 */
import type { LeaseProvider, RecordStore } from '../../src/index.ts';
import { storeLeases } from '../../src/index.ts';

export type Place =
  | { readonly kind: 'azure-tables'; readonly connectionString: string; readonly tableName: string }
  | { readonly kind: 'azure-blob'; readonly connectionString: string; readonly containerName: string }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'file'; readonly directory: string };
export type Kind = Place['kind'];
export type At<K extends Kind> = Extract<Place, { readonly kind: K }>;

export const BACKENDS: Readonly<Record<Kind, string>> = {
  'azure-tables': 'Table Storage',
  'azure-blob': 'Blob Storage',
  dynamodb: 'DynamoDB',
  postgres: 'PostgreSQL',
  redis: 'Redis',
  sqlite: 'SQLite',
  file: 'files',
};

/** In a worker: the place that its parent named. */
export const placeGiven = <K extends Kind>(..._kinds: K[]): At<K> => JSON.parse(process.env.PLACE ?? 'null') as At<K>;

export async function tableAt({ connectionString, tableName }: { readonly connectionString: string; readonly tableName: string }) {
  const { TableClient } = await import('@azure/data-tables');
  return TableClient.fromConnectionString(connectionString, tableName, { allowInsecureConnection: true });
}

export async function dynamodbAt({ endpoint }: Pick<At<'dynamodb'>, 'endpoint'>) {
  const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
  return new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } });
}

export async function poolAt({ url }: Pick<At<'postgres'>, 'url'>, max = 4) {
  const { Pool } = await import('pg');
  const pool = new Pool({ connectionString: url, max, connectionTimeoutMillis: 10_000 });
  // Idle connections break when their server is taken down before us.
  pool.on('error', () => {});
  return pool;
}

export async function containerAt({ connectionString, containerName }: At<'azure-blob'>) {
  const { BlobServiceClient } = await import('@azure/storage-blob');
  return BlobServiceClient.fromConnectionString(connectionString).getContainerClient(containerName);
}

export async function redisAt({ url }: Pick<At<'redis'>, 'url'>) {
  const { createClient } = await import('redis');
  // A connection that breaks is made again; until then calls fail, and that is what is seen.
  return createClient({ url })
    .on('error', () => {})
    .connect();
}

export async function storeAt(place: Place): Promise<RecordStore> {
  switch (place.kind) {
    case 'azure-tables': {
      const { tableStore } = await import('../../src/stores/azure-tables/index.ts');
      return tableStore({ client: await tableAt(place) });
    }
    case 'dynamodb': {
      const { dynamodbStore } = await import('../../src/stores/dynamodb/index.ts');
      return dynamodbStore({ client: await dynamodbAt(place), tableName: place.tableName });
    }
    case 'postgres': {
      const { postgresStore } = await import('../../src/stores/postgres/index.ts');
      return postgresStore({ pool: await poolAt(place) });
    }
    case 'redis': {
      const { redisStore } = await import('../../src/stores/redis/index.ts');
      return redisStore({ client: await redisAt(place), prefix: place.prefix });
    }
    case 'sqlite': {
      const { sqliteStore } = await import('../../src/stores/sqlite/index.ts');
      return sqliteStore({ path: place.path });
    }
    default:
      throw new Error(`${place.kind} keeps no records here`);
  }
}

/** In a worker: with a connection, so that the first call of a scenario is not the one that also loads an SDK and connects. */
export async function storeReady(place: Place): Promise<RecordStore> {
  const store = await storeAt(place);
  await storeLeases(store).read?.('nobody');
  return store;
}

export async function leasesReady(place: Place): Promise<LeaseProvider> {
  const leases = await leasesAt(place);
  await leases.read?.('nobody');
  return leases;
}

export async function leasesAt(place: Place): Promise<LeaseProvider> {
  if (place.kind === 'azure-blob') {
    const { blobLeases } = await import('../../src/leases/azure-blob/index.ts');
    return blobLeases({ container: await containerAt(place) });
  }
  if (place.kind === 'file') {
    const { fileLeases } = await import('../../src/leases/file/index.ts');
    return fileLeases({ directory: place.directory });
  }
  return storeLeases(await storeAt(place));
}
