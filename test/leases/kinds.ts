/**
 * Every lease provider over a network or in files, each with something fresh to run on.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAzurite } from '../support/azurite.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import type { Place } from './places.ts';

export interface Started {
  readonly place: Place;
  stop(): Promise<void>;
}

/** `folder`: what it runs on is kept there, and found again by the next start. */
export type Start = (folder?: string) => Promise<Started>;

async function inFolder(given: string | undefined, place: (folder: string) => Place): Promise<Started> {
  if (given !== undefined) return { place: place(given), stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-leases-'));
  return { place: place(folder), stop: () => rm(folder, { recursive: true, force: true }) };
}

export const KINDS: Readonly<Record<string, Start>> = {
  SQLite: (given) => inFolder(given, (folder) => ({ kind: 'sqlite', path: join(folder, 'records.db') })),
  files: (given) => inFolder(given, (directory) => ({ kind: 'file', directory })),
  'Table Storage (Azurite)': async (folder) => {
    const { connectionString, stop } = await startAzurite({ services: ['table'], ...(folder === undefined ? {} : { folder }) });
    return { place: { kind: 'azure-tables', connectionString, tableName: 'leases' }, stop };
  },
  'Blob Storage (Azurite)': async (folder) => {
    const { connectionString, stop } = await startAzurite({ services: ['blob'], ...(folder === undefined ? {} : { folder }) });
    return { place: { kind: 'azure-blob', connectionString, containerName: 'leases' }, stop };
  },
  ...((await postgresAvailable()) ? { PostgreSQL: startPostgresql } : {}),
  ...((await javaAvailable()) ? { 'DynamoDB Local': startDynamodb } : {}),
};

async function startDynamodb(folder?: string): Promise<Started> {
  const { endpoint, stop } = await startDynamoDbLocal(folder === undefined ? {} : { folder });
  return { place: { kind: 'dynamodb', endpoint, tableName: 'leases' }, stop };
}

const kept = new Map<string, Awaited<ReturnType<typeof startPostgres>>>();

/** What is kept in a folder is the server itself: it is stopped and started again, and found by the next start. */
async function startPostgresql(folder?: string): Promise<Started> {
  const found = folder === undefined ? undefined : kept.get(folder);
  const server = found ?? (await startPostgres({ own: true }));
  const restart = async (name: string): Promise<void> => {
    kept.set(name, server);
    await server.restart();
  };
  return { place: { kind: 'postgres', url: server.url }, stop: folder === undefined || found !== undefined ? server.stop : () => restart(folder) };
}
