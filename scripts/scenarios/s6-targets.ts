/**
 * S6: where a holder writes its report, on each backend: with a fence in the way that the backend has, and without.
 *
 * @module
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Fence } from '../../src/index.ts';
import { type At, containerAt, dynamodbAt, type Place, poolAt, redisAt, tableAt } from './place.ts';

export interface Target {
  /** Where the fence is kept beside what is written: who takes over puts its own there before it reads. */
  claim?(fence: Fence, name: string): Promise<unknown>;
  write(fence: Fence | undefined, name: string, text: string): Promise<unknown>;
  read(name: string): Promise<string | undefined>;
}

export const LEASE = 'report';

/** Called once per place before anybody writes. */
export async function makeTarget(place: Place): Promise<void> {
  if (place.kind === 'postgres') await (await poolAt(place)).query('CREATE TABLE report (name text PRIMARY KEY, text text NOT NULL)');
  if (place.kind === 'sqlite') new DatabaseSync(place.path).exec('CREATE TABLE report (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT');
}

export function targetAt(place: Place, folder: string): Promise<Target> {
  switch (place.kind) {
    case 'postgres':
      return inPostgres(place);
    case 'dynamodb':
      return inDynamodb(place);
    case 'azure-tables':
      return inTable(place);
    case 'azure-blob':
      return inBlob(place);
    case 'redis':
      return inRedis(place);
    case 'sqlite':
      return inSqlite(place);
    case 'file':
      return inFile(folder);
  }
}

const UPSERT = 'INSERT INTO report (name, text) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET text = excluded.text';

async function inPostgres(place: At<'postgres'>): Promise<Target> {
  const { fencedTransaction } = await import('../../src/stores/postgres/index.ts');
  const pool = await poolAt(place);
  return {
    write: (fence, name, text) =>
      fence === undefined ? pool.query(UPSERT, [name, text]) : fencedTransaction(pool, fence, (tx) => tx.query(UPSERT, [name, text])),
    read: async (name) => (await pool.query<{ text: string }>('SELECT text FROM report WHERE name = $1', [name])).rows[0]?.text,
  };
}

async function inDynamodb(place: At<'dynamodb'>): Promise<Target> {
  const { fencedTransaction } = await import('../../src/stores/dynamodb/index.ts');
  const { GetItemCommand, PutItemCommand } = await import('@aws-sdk/client-dynamodb');
  const client = await dynamodbAt(place);
  const { tableName: TableName } = place;
  const Key = (name: string) => ({ id: { S: `report/${name}` } });
  return {
    write(fence, name, text) {
      const put = { TableName, Item: { ...Key(name), text: { S: text } } };
      return fence === undefined ? client.send(new PutItemCommand(put)) : fencedTransaction(client, fence, [{ Put: put }], { tableName: TableName });
    },
    read: async (name) => (await client.send(new GetItemCommand({ TableName, Key: Key(name), ConsistentRead: true }))).Item?.text?.S,
  };
}

async function inTable(place: At<'azure-tables'>): Promise<Target> {
  const { fencedTransaction, fencePartition } = await import('../../src/stores/azure-tables/index.ts');
  const client = await tableAt(place);
  const keys = (name: string) => ({ partitionKey: fencePartition(LEASE), rowKey: `report-${name}` });
  return {
    write(fence, name, text) {
      const entity = { ...keys(name), text };
      return fence === undefined ? client.upsertEntity(entity, 'Replace') : fencedTransaction(client, fence, [['upsert', entity, 'Replace']]);
    },
    read: (name) =>
      client.getEntity<{ text: string }>(keys(name).partitionKey, keys(name).rowKey).then(
        ({ text }) => text,
        (error: { statusCode?: number }) => (error.statusCode === 404 ? undefined : Promise.reject(error)),
      ),
  };
}

async function inBlob(place: At<'azure-blob'>): Promise<Target> {
  const { fencedClaim, fencedUpload } = await import('../../src/leases/azure-blob/index.ts');
  const container = await containerAt(place);
  const blob = (name: string) => container.getBlockBlobClient(`${name}.txt`);
  return {
    claim: (fence, name) => fencedClaim(blob(name), fence),
    write: (fence, name, text) => (fence === undefined ? blob(name).upload(text, text.length) : fencedUpload(blob(name), fence, text)),
    read: async (name) => ((await blob(name).exists()) ? (await blob(name).downloadToBuffer()).toString() : undefined),
  };
}

async function inRedis(place: At<'redis'>): Promise<Target> {
  const { fencedScript } = await import('../../src/stores/redis/index.ts');
  const client = await redisAt(place);
  const { prefix } = place;
  const key = (name: string): string => `${prefix}report:${name}`;
  const script = "return redis.call('SET', KEYS[1], ARGV[1])";
  return {
    write: (fence, name, text) =>
      fence === undefined ? client.set(key(name), text) : fencedScript(client, fence, { script, keys: [key(name)], arguments: [text] }, { prefix }),
    read: async (name) => (await client.get(key(name))) ?? undefined,
  };
}

async function inSqlite({ path }: At<'sqlite'>): Promise<Target> {
  const { fencedTransaction } = await import('../../src/stores/sqlite/index.ts');
  const database = new DatabaseSync(path, { timeout: 5_000 });
  const put = (name: string, text: string) =>
    database.prepare('INSERT INTO report (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = excluded.text').run(name, text);
  return {
    write: async (fence, name, text) => (fence === undefined ? put(name, text) : fencedTransaction(database, fence, () => put(name, text))),
    read: async (name) => (database.prepare('SELECT text FROM report WHERE name = ?').get(name) as { text: string } | undefined)?.text,
  };
}

async function inFile(folder: string): Promise<Target> {
  const { fencedClaimFile, fencedWriteFile } = await import('../../src/leases/file/index.ts');
  const path = (name: string): string => join(folder, `${name}.txt`);
  return {
    claim: (fence, name) => fencedClaimFile(path(name), fence),
    write: (fence, name, text) => (fence === undefined ? writeFile(path(name), text) : fencedWriteFile(path(name), fence, text)),
    read: (name) => readFile(path(name), 'utf8').catch(() => undefined),
  };
}
