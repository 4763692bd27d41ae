/**
 * Whether anything was committed since a transaction of ours began, for when that is gone: SQLite ends one by itself (`OR ROLLBACK`, a trigger's
 * `RAISE(ROLLBACK)`, a full disk) and nothing stands; but rows that were written behind its end stand without a record. The errors are the same.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { prepareOn } from './source.ts';

export interface Watch {
  /** Nothing stands that the work has written. False also where that cannot be told: in memory, in attached files, or when others committed just now. */
  isUntouched(): boolean;
  end(): void;
}

type DatabaseClass = new (path: string, options: { readOnly: boolean }) => DatabaseSync;

/** Call it within the transaction: nobody else writes to the file until that is over. */
export function watch(database: DatabaseSync): Watch {
  const other = besides(database);
  const before = other && versionOf(other);
  return {
    isUntouched: () => other !== undefined && before !== undefined && filesOf(database).length === 1 && versionOf(other) === before,
    end: () => other?.close(),
  };
}

/** A connection is told of the commits of others alone. */
function besides(database: DatabaseSync): DatabaseSync | undefined {
  const [file, another] = filesOf(database);
  if (file === undefined || another !== undefined) return undefined;
  try {
    return new (database.constructor as DatabaseClass)(file, { readOnly: true });
  } catch {
    return undefined;
  }
}

function filesOf(database: DatabaseSync): string[] {
  const all = prepareOn(database, 'PRAGMA database_list').all() as unknown as readonly { readonly name: string; readonly file: string | null }[];
  return all
    .filter(({ name }) => name !== 'temp')
    .map(({ file }) => file ?? '')
    .filter((file) => file !== '');
}

function versionOf(database: DatabaseSync): unknown {
  try {
    return database.prepare('PRAGMA data_version').get()?.data_version;
  } catch {
    return undefined;
  }
}
