import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { leaseProviderConformance, recordStoreConformance, virtualClock } from '../../src/testing/index.ts';
import { type DatabaseFolder, databaseFolder } from '../support/sqlite-file.ts';

let folder: DatabaseFolder;
const clock = virtualClock();
const { advance } = clock;
const stores: Record<'real' | 'virtual' | 'journal' | 'memory', RecordStore> = {} as never;
let own: DatabaseSync;

beforeAll(async () => {
  folder = await databaseFolder();
  stores.real = sqliteStore({ path: folder.path });
  stores.virtual = sqliteStore({ path: folder.path, tableName: 'in_virtual_time', clock });
  stores.memory = sqliteStore({ path: ':memory:' });
  // As SQLite opens it by default: with a rollback journal, and no log beside it.
  own = new DatabaseSync(`${folder.path}-own`);
  stores.journal = sqliteStore({ database: own });
  for (const store of Object.values(stores)) await store.setUp?.();
});
afterAll(async () => {
  for (const store of Object.values(stores)) await store.close?.();
  own.close();
  await folder.remove();
});

recordStoreConformance({ name: 'sqlite, in real time', describe, it, createStore: async () => ({ store: stores.real }) });
recordStoreConformance({ name: 'sqlite, in virtual time', describe, it, createStore: async () => ({ store: stores.virtual, advance }) });
recordStoreConformance({ name: 'sqlite, in memory', describe, it, createStore: async () => ({ store: stores.memory }) });
recordStoreConformance({
  name: "sqlite, on the caller's connection with a rollback journal",
  describe,
  it,
  createStore: async () => ({ store: stores.journal }),
});

leaseProviderConformance({
  name: 'storeLeases, sqlite, in virtual time',
  describe,
  it,
  leaseMs: 30_000,
  createLeases: async () => ({ leases: storeLeases(stores.virtual), advance }),
});
leaseProviderConformance({
  name: 'storeLeases, sqlite, in real time',
  // The cases that let a lease run out wait at the same time.
  describe: describe.concurrent,
  it,
  leaseMs: 2_000,
  createLeases: async () => ({ leases: storeLeases(stores.real) }),
});
