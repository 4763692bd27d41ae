/**
 * What a worker that is to be killed can be told to do. Apart from the worker, which does it as soon as it is loaded.
 *
 * @module
 */
export type KillPlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'dynamodb'; readonly endpoint: string; readonly tableName: string; readonly TableName: string };

export interface KillTask {
  /** `in-transaction`: on SQLite alone. */
  readonly mode: 'commit' | 'in-transaction';
  /** Commits a row for each of them, in this order. */
  readonly keys: readonly string[];
  /** On SQLite: dies of SIGKILL when so many statements have been executed. */
  readonly afterStatements?: number;
  /** Says `committed` after each commit and waits for ever. */
  readonly stays?: true;
}

export const OPERATION = 'test/killed';
/** A claim whose answer comes later than that is given back. */
export const LEASE_MS: Readonly<Record<KillPlace['kind'], number>> = { sqlite: 500, dynamodb: 2_000 };
export const LINES = 'CREATE TABLE IF NOT EXISTS line (row TEXT NOT NULL) STRICT';
