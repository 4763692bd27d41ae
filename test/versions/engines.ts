/**
 * Today's engine, and those of earlier commits that are kept beside this (see bundle.ts).
 *
 * @module
 */
import type * as core from '../../src/index.ts';
import type { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import type { postgresStore } from '../../src/stores/postgres/index.ts';
import type { redisStore } from '../../src/stores/redis/index.ts';
import type { fencedTransaction, sqliteStore } from '../../src/stores/sqlite/index.ts';

/** `d922e28`: the end of issue 5; steps were values only, no compression, no parts, no notes. `8a3546b`: the end of issue 7; no notes, no `failed`. */
export const OLD = ['d922e28', '8a3546b'] as const;
export type Version = (typeof OLD)[number] | 'today';

export interface Engine
  extends Pick<
    typeof core,
    'aesSeal' | 'currentRun' | 'forgetRun' | 'isRerunSafeError' | 'NotDoneError' | 'resolveRun' | 'runOnce' | 'storeLeases' | 'tryRunOnce'
  > {
  readonly sqliteStore: typeof sqliteStore;
  readonly fencedSqlite: typeof fencedTransaction;
  readonly dynamodbStore: typeof dynamodbStore;
  /** Not in the oldest. */
  readonly postgresStore?: typeof postgresStore;
  readonly redisStore?: typeof redisStore;
}

export const engineOf = async (version: Version): Promise<Engine> =>
  version === 'today' ? today() : ((await import(new URL(`engine-${version}.mjs`, import.meta.url).href)) as Engine);

/** Loaded by those who run it. */
async function today(): Promise<Engine> {
  const [index, { fencedTransaction: fencedSqlite, sqliteStore }, { dynamodbStore }, { postgresStore }, { redisStore }] = await Promise.all([
    import('../../src/index.ts'),
    import('../../src/stores/sqlite/index.ts'),
    import('../../src/stores/dynamodb/index.ts'),
    import('../../src/stores/postgres/index.ts'),
    import('../../src/stores/redis/index.ts'),
  ]);
  return { ...index, sqliteStore, fencedSqlite, dynamodbStore, postgresStore, redisStore };
}
