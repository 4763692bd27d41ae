/**
 * A store, and a table of lines beside its records.
 *
 * @module
 */
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { PlainStore } from '../../src/core/ports.ts';
import type { RunInTransactionOptions } from '../../src/stores/sqlite/index.ts';
import { type Stage, sqliteStage } from '../unit/stores/sqlite-subject.ts';

export const OPERATION = 'test/in-transaction';
export const ID = recordId(OPERATION, [], keyParts(1));

export interface Lines {
  readonly stage: Stage;
  readonly store: PlainStore;
  /** Another connection to the file. */
  readonly plain: DatabaseSync;
  options(more?: Partial<RunInTransactionOptions>): RunInTransactionOptions;
  lines(): unknown[];
}

/** Registers hooks: call it inside `describe`. */
export function linesStage(): Lines {
  const stage = sqliteStage();
  const its = {
    stage,
    options: (more: Partial<RunInTransactionOptions> = {}) => ({ store: its.store, operation: OPERATION, key: 1, ...more }),
    lines: () =>
      its.plain
        .prepare('SELECT n FROM line ORDER BY n')
        .all()
        .map(({ n }) => n),
  } as { -readonly [K in keyof Lines]: Lines[K] };
  beforeEach(async () => {
    its.store = await stage.fresh({ maxRecordBytes: 100_000 });
    its.plain = stage.connection();
    its.plain.exec('CREATE TABLE line (n INTEGER)');
  });
  return its;
}

export const insert = (n: number) => (db: DatabaseSync) => {
  db.prepare('INSERT INTO line VALUES (?)').run(n);
  return n;
};

export const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
