/**
 * A database file for each test, and stores and connections on it that are closed afterwards.
 *
 * @module
 */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach } from 'vitest';
import type { BatchStore, Listed, ListQuery, RecordStore } from '../../../src/core/ports.ts';
import { type SqliteStoreOptions, sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { type DatabaseFolder, databaseFolder } from '../../support/sqlite-file.ts';

interface Closable {
  close(): unknown;
}

export interface Stage {
  readonly path: string;
  opened<T extends Closable>(one: T): T;
  /** A store on the file, which may not be there yet. */
  another(options?: Partial<SqliteStoreOptions>): BatchStore;
  /** The same, set up. */
  fresh(options?: Partial<SqliteStoreOptions>): Promise<BatchStore>;
  connection(): DatabaseSync;
}

/** Registers hooks: call it inside `describe`. */
export function sqliteStage(): Stage {
  let folder: DatabaseFolder;
  const open: Closable[] = [];
  beforeEach(async () => {
    folder = await databaseFolder();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) {
      try {
        await one.close();
      } catch {
        // The test has closed it itself.
      }
    }
    await folder.remove();
  });
  const stage: Stage = {
    get path() {
      return folder.path;
    },
    opened(one) {
      open.push(one);
      return one;
    },
    another: (options) => stage.opened(sqliteStore({ path: folder.path, ...options })),
    async fresh(options) {
      const store = stage.another(options);
      await store.setUp();
      return store;
    },
    connection: () => stage.opened(new DatabaseSync(folder.path)),
  };
  return stage;
}

export async function all(store: RecordStore, query: ListQuery = {}): Promise<Listed[]> {
  const found: Listed[] = [];
  for await (const one of store.list(query)) found.push(one);
  return found;
}
