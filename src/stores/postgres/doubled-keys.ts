/**
 * Rows that are one to the table, although their keys were given as two.
 *
 * @module
 */
import { RerunSafeError } from '../../core/errors.ts';
import { keyStored } from './as-stored.ts';
import { quoted } from './names.ts';
import type { Queryable } from './query.ts';
import { MOST_VALUES, type Row } from './upsert-rows.ts';
import { type Plan, rowsSource } from './upsert-sql.ts';

/**
 * Before anything is written: `DO NOTHING` would drop one of them without a word, and so would the second of two statements.
 *
 * @throws RerunSafeError `INVALID_OPTIONS` with `facts.doubled`: so many keys
 */
export async function refuseDoubled(what: string, tx: Queryable, { fence: _, ...plan }: Plan, rows: readonly Row[]): Promise<void> {
  if (rows.length < 2) return;
  const { key, table } = plan;
  const size = Math.floor(MOST_VALUES / key.length);
  const parts = Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size));
  const given = parts.map((part) => ({
    from: rowsSource({ ...plan, columns: key, fence: undefined }, part.length).from,
    values: part.flatMap((row) => key.map((column) => row[column])),
  }));
  const [first] = given;
  const all = first !== undefined && given.length === 1 ? first : await gathered(tx, plan, given);
  const sql = `SELECT count(*)::text AS doubled FROM (SELECT FROM ${all.from} AS given GROUP BY ${names(key)} HAVING count(*) > 1) AS twice`;
  const doubled = Number((await tx.query(sql, all.values)).rows[0]?.doubled);
  if (doubled === 0) return;
  const problem = `${doubled} keys are there more than once, as the columns of ${table} store them (${typesOf(plan)}), and which of those rows should stand nobody can tell`;
  throw new RerunSafeError('INVALID_OPTIONS', `${what}: ${problem}. Nothing was written.`, { facts: { problems: [problem], doubled } });
}

interface Given {
  readonly from: string;
  readonly values: unknown[];
}

/** More than one statement takes as parameters, as arrays of their texts. */
async function gathered(tx: Queryable, { key, types }: Omit<Plan, 'fence'>, given: readonly Given[]): Promise<Given> {
  const texts: unknown[][] = key.map(() => []);
  const asText = key.map((column, at) => `${quoted(column)}::text AS k${at}`).join(', ');
  for (const { from, values } of given) {
    const { rows } = await tx.query(`SELECT ${asText} FROM ${from} AS given`, values);
    for (const row of rows) for (const [at, list] of texts.entries()) list.push(row[`k${at}`]);
  }
  const arrays = key.map((_, at) => `$${at + 1}::text[]`).join(', ');
  return { from: `(SELECT ${keyStored(types, key, key)} FROM unnest(${arrays}) AS texts (${names(key)}))`, values: texts };
}

const names = (columns: readonly string[]): string => columns.map(quoted).join(', ');
const typesOf = ({ key, types }: Omit<Plan, 'fence'>): string =>
  key.map((column) => `${column} ${types[column]?.trimmed ?? types[column]?.type ?? ''}`).join(', ');
