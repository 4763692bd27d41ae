/**
 * Values as a column stores them. Only `INSERT` itself rounds and converts: whatever else is compared with what stands there has to be rounded before,
 * or the row of 1.012 is not found under `numeric(10,2)`, a stale token passes, and two keys that are stored as one are two.
 *
 * @module
 */
import { quoted } from './names.ts';
import type { Queryable } from './query.ts';

/** Of a column; of a domain, what that is made of. In SQL. */
export interface StoredType {
  /** `numeric(10,2)`. Without the length where a cast would cut what `INSERT` refuses: it would pass for what stands there. */
  readonly type: string;
  /** `character varying(3)`: of too long a value, `INSERT` drops spaces at the end without a word. */
  readonly trimmed: string | null;
  /** Where it is not the one of the type. */
  readonly collation: string | null;
}

export type StoredTypes = Readonly<Record<string, StoredType>>;

/** Refused when they are too long, and cut by a cast. */
const CUT = `'{bpchar,varchar,bit,varbit}'::regtype[]::oid[]`;

/** One JSON object of {@link StoredTypes}. `$1`: the table. */
export const STORED_TYPES = `WITH RECURSIVE kind (name, oid, mod, coll) AS (
    SELECT attname, atttypid, atttypmod, attcollation FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT kind.name, d.typbasetype, d.typtypmod, kind.coll FROM kind JOIN pg_type AS d ON d.oid = kind.oid WHERE d.typtype = 'd')
  SELECT coalesce(json_object_agg(kind.name, json_build_object(
    'type', format_type(kind.oid, CASE WHEN ARRAY[kind.oid, t.typelem] && ${CUT} THEN -1 ELSE kind.mod END),
    'trimmed', CASE WHEN kind.oid = 'varchar'::regtype AND kind.mod >= 0 THEN format_type(kind.oid, kind.mod) END,
    'collation', (SELECT quote_ident(n.nspname) || '.' || quote_ident(c.collname) FROM pg_collation AS c JOIN pg_namespace AS n ON n.oid = c.collnamespace
      WHERE c.oid = kind.coll AND kind.coll <> t.typcollation))), '{}')
  FROM kind JOIN pg_type AS t ON t.oid = kind.oid WHERE t.typtype <> 'd'`;

export async function storedTypes(tx: Queryable, table: string): Promise<StoredTypes> {
  const { rows } = await tx.query(`SELECT (${STORED_TYPES})::text AS types`, [table]);
  return JSON.parse(String(rows[0]?.types)) as StoredTypes;
}

/** `value`, as `column` would store it. A column that is not there is for PostgreSQL to tell. */
export function asStored(types: StoredTypes, column: string, value: string): string {
  const its = Object.hasOwn(types, column) ? types[column] : undefined;
  if (its === undefined) return value;
  const { type, trimmed, collation } = its;
  const plain = `${value}::${type}`;
  const same = trimmed === null ? '' : `rtrim(${value}::${trimmed}::text) = rtrim(${value}::text)`;
  const stored = trimmed === null ? plain : `CASE WHEN ${same} THEN ${value}::${trimmed} ELSE ${plain} END`;
  return collation === null ? stored : `(${stored}) COLLATE ${collation}`;
}

/** To select: those of the key as they are stored, the others as they are given. */
export const keyStored = (types: StoredTypes, columns: readonly string[], key: readonly string[]): string =>
  columns.map((column) => (key.includes(column) ? `${asStored(types, column, quoted(column))} AS ${quoted(column)}` : quoted(column))).join(', ');
