/**
 * An upsert as it is sent: all of it or nothing, done again where that helps, and refused for a newer holder.
 *
 * @module
 */
import { sqlStateOf } from './map-error.ts';
import type { Queryable } from './query.ts';
import { type RowFence, staleRows } from './row-fence.ts';
import { inSavepoint } from './savepoint.ts';
import { type Mode, NOT_TOLD, type Plan, type Source, staleSql, upsertSql } from './upsert-sql.ts';

export interface Upserted {
  /** Rows that were inserted or changed. */
  readonly written: number;
  /** undefined where PostgreSQL does not tell: by `merge` before 17, and before 18 for views and partitioned tables. */
  readonly inserted: number | undefined;
  /** As `inserted`. */
  readonly updated: number | undefined;
  /** Rows that stood there just so, and with `update: 'nothing'` otherwise too: they were not written again. */
  readonly unchanged: number;
}

export interface Counts {
  readonly written: number;
  readonly inserted: number;
  /** What the source was asked to tell. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const TRIES = 5;
const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';

/**
 * MERGE looks first and inserts then: where another writer inserts in between it fails, having waited, and finds the row at its next look. It takes its
 * locks in the order of a plan, so that it and another may wait for each other; what is rolled back here gives its locks back.
 */
export async function inOneGo<T>(
  what: string,
  tx: Queryable,
  { mode, key }: { readonly mode?: Mode; readonly key: readonly string[] },
  body: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await inSavepoint(what, tx, body);
    } catch (error) {
      const state = sqlStateOf(error);
      if (mode !== 'merge' || (state !== UNIQUE_VIOLATION && state !== DEADLOCK)) throw error;
      if (state === UNIQUE_VIOLATION) await refuseUnseen(what, tx, key, error);
      if (tries === TRIES) throw error;
    }
  }
}

const OF_THE_KEY = `SELECT current_setting('transaction_isolation') IN ('repeatable read', 'serializable') AS fixed, EXISTS (SELECT FROM pg_index AS i
  JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace
  WHERE x.relname = $1 AND t.relname = $2 AND n.nspname = $3 AND ARRAY(SELECT attname::text FROM pg_attribute
    WHERE attrelid = t.oid AND attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) ORDER BY 1) = ARRAY(SELECT unnest($4::text[]) ORDER BY 1)) AS ours`;

/** By the server, so that whoever keeps account of the conflicts of a transaction hears of it from there. */
const CONFLICT = `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
  MESSAGE = 'could not serialize access: another transaction has inserted a row that this one merges and does not see'; END $$`;

/**
 * Under REPEATABLE READ and SERIALIZABLE no other look finds that row: the transaction has to begin anew, which whoever opened it knows by 40001.
 *
 * @throws that, or `error`, if that is about another index; nothing under READ COMMITTED
 */
async function refuseUnseen(what: string, tx: Queryable, key: readonly string[], error: unknown): Promise<void> {
  const { constraint, table, schema } = error as Readonly<Record<string, unknown>>;
  const { rows } = await tx.query(OF_THE_KEY, [constraint ?? null, table ?? null, schema ?? null, key]);
  if (rows[0]?.fixed !== true) return;
  if (rows[0]?.ours !== true) throw error;
  await inSavepoint(what, tx, () => tx.query(CONFLICT));
}

export async function write(tx: Queryable, plan: Plan, source: Source, values: unknown[]): Promise<Counts> {
  const { rows, rowCount } = await tx.query(upsertSql(plan, source), values);
  const [facts = {}] = rows;
  return { written: Number(facts.written ?? rowCount), inserted: Number(facts.inserted ?? 0), facts };
}

/**
 * The rows that refused are still locked, so what is read here is what refused.
 *
 * @throws RerunSafeError `STALE_TOKEN`
 */
export async function refuseStale(tx: Queryable, plan: Plan, source: Source, values: unknown[], fence: RowFence): Promise<void> {
  const { rows } = await tx.query(staleSql(plan, source), values);
  const stored = rows[0]?.stored;
  if (stored !== null && stored !== undefined) throw staleRows(fence, Number(stored), plan.table);
}

export function upserted({ told }: Plan, sent: number, { written, inserted }: Pick<Counts, 'written' | 'inserted'>): Upserted {
  const tells = told !== NOT_TOLD;
  return { written, inserted: tells ? inserted : undefined, updated: tells ? written - inserted : undefined, unchanged: sent - written };
}
