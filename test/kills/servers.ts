/**
 * What each store runs on, started for the tests and the command.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAzurite } from '../support/azurite.ts';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import type { Place } from './place.ts';

export interface Started {
  readonly place: Place;
  stop(): Promise<void>;
}

const inFolder = async (place: (folder: string) => Place): Promise<Started> => {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-kills-'));
  return { place: place(folder), stop: () => rm(folder, { recursive: true, force: true }) };
};

/** undefined: this machine does not have it, which is a failure under `CI=true`. */
export const SERVERS: Readonly<Record<string, () => Promise<Started | undefined>>> = {
  sqlite: () => inFolder((folder) => ({ kind: 'sqlite', path: join(folder, 'records.db') })),
  async postgres() {
    if (!(await postgresAvailable())) return undefined;
    const server = await startPostgres();
    const { url, drop } = await server.database();
    return { place: { kind: 'postgres', url }, stop: () => drop().finally(() => server.stop()) };
  },
  async redis() {
    if (!redisAvailable()) return undefined;
    const { url, stop } = await startRedis();
    return { place: { kind: 'redis', url }, stop };
  },
  async dynamodb() {
    if (!(await javaAvailable())) return undefined;
    const { endpoint, stop } = await startDynamoDbLocal();
    return { place: { kind: 'dynamodb', endpoint, tableName: 'kills' }, stop };
  },
  async 'azure-tables'() {
    const { connectionString, stop } = await startAzurite({ services: ['table'] });
    return { place: { kind: 'azure-tables', connectionString, tableName: 'kills' }, stop };
  },
  file: () => inFolder((directory) => ({ kind: 'file', directory })),
  async 'azure-blob'() {
    const { connectionString, stop } = await startAzurite({ services: ['blob'] });
    return { place: { kind: 'azure-blob', connectionString, containerName: 'kills' }, stop };
  },
};

/** How many lives share a process, unless somebody says otherwise: an emulator that is asked too much at once answers too late for all of them. */
export const togetherOn = (store: string): number => (store === 'dynamodb' || store === 'azure-tables' ? 45 : 1_000);

/** What shares a process has to come to its point while its lease lasts; blobs take no less than 15 s. */
export function leaseMsFor(store: string, together: number): number {
  if (store === 'azure-blob') return 15_000;
  return together === 1 ? 600 : 4_000;
}

/** The kernel keeps a file's lock for whoever is stopped, and nobody comes on: see docs/leases.md. */
export const isLeftByTheStopped = (store: string): boolean => store !== 'file';
