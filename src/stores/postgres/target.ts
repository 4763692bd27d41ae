/**
 * What has to be known of a table before rows are merged into it.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';
import { STORED_TYPES, type StoredTypes } from './as-stored.ts';
import { quoted } from './names.ts';
import type { Queryable } from './query.ts';
import { type Mode, NOT_TOLD } from './upsert-sql.ts';

export interface Target {
  /** What is true of an inserted row and false of an updated one; {@link NOT_TOLD} where PostgreSQL does not tell. */
  readonly told: string;
  /** Columns that PostgreSQL alone writes. */
  readonly generated: readonly string[];
  readonly types: StoredTypes;
}

const MERGE = 150_000;
const MERGE_RETURNING = 170_000;
const RETURNING_OLD = 180_000;

const SQL = `SELECT current_setting('server_version_num')::int::text AS version, c.relkind::text AS kind,
  to_json(ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND (attidentity = 'a' OR attgenerated <> '')))::text AS generated,
  (${STORED_TYPES})::text AS types,
  EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    AND (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = c.oid AND attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) <@ $2::text[])::text AS keyed
FROM pg_class AS c WHERE c.oid = $1::regclass`;

/** Until the transaction ends. Two merges at once insert the same row, or wait for each other in a circle, since each takes its locks as its plan has it. */
const ONE_AT_A_TIME = `SELECT pg_advisory_xact_lock(hashtextextended('rerunsafe merge', $1::regclass::oid::bigint))`;

/**
 * @param table quoted
 * @throws RerunSafeError `INVALID_OPTIONS` where the server cannot merge, or nothing keeps two that merge at once from inserting the same row twice.
 */
export async function lookAt(what: string, tx: Queryable, table: string, key: readonly string[], mode: Mode): Promise<Target> {
  const { rows } = await tx.query(SQL, [table, key]);
  const { version, kind, generated, types, keyed } = rows[0] ?? {};
  const number = Number(version);
  if (mode === 'merge' && number < MERGE) {
    throw invalidOptions(what, [
      `mode 'merge' needs PostgreSQL 15 or later, and this is ${Math.floor(number / 10_000)}: 'on conflict' does the same`,
    ]);
  }
  if (mode === 'merge' && keyed !== 'true') {
    throw invalidOptions(what, [`key: ${table} has no primary key or unique index on (${key.join(', ')}), so two calls at once would both insert`]);
  }
  if (mode === 'merge') await tx.query(ONE_AT_A_TIME, [table]);
  return {
    told: toldBy(number, String(kind), mode, key),
    generated: JSON.parse(String(generated)) as string[],
    types: JSON.parse(String(types)) as StoredTypes,
  };
}

function toldBy(version: number, kind: string, mode: Mode, [first = '']: readonly string[]): string {
  if (mode === 'merge') return version >= MERGE_RETURNING ? "merge_action() = 'INSERT'" : NOT_TOLD;
  if (version >= RETURNING_OLD) return `old.${quoted(first)} IS NULL`;
  // System columns are not to be had of views and of partitioned tables.
  return kind === 'r' ? 'xmax = 0' : NOT_TOLD;
}
