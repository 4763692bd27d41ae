/**
 * A process of its own among the clients of a database file.
 *
 * @module
 */
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { randomOf } from '../steps/plans.ts';
import { fileHistory } from './log.ts';
import { drive } from './register-clients.ts';

/** Its one argument, as JSON. */
export interface SqliteClient {
  readonly path: string;
  readonly history: string;
  readonly caller: string;
  readonly keys: readonly string[];
  readonly operations: number;
  readonly seed: number;
}

const { path, history, caller, keys, operations, seed } = JSON.parse(process.argv[2] ?? '{}') as SqliteClient;
const random = randomOf(seed);
await drive(sqliteStore({ path }), fileHistory(history), caller, { keys, operations, deletes: true, impatience: { share: 0, withinMs: 0 }, random });
