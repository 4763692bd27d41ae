/**
 * Where tables without a schema were found. The work may set another `search_path`, and what is written after it has to go where it began.
 *
 * @module
 */
import { quoted } from './names.ts';

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** One row, a column for each name in order: `schema_0`… Null where there is no such table. */
export const schemasSql = (tableNames: readonly string[]): string =>
  `SELECT ${tableNames
    .map(
      (name, at) =>
        `(SELECT space.nspname::text FROM pg_catalog.pg_class AS found JOIN pg_catalog.pg_namespace AS space ON space.oid = found.relnamespace WHERE found.oid = pg_catalog.to_regclass(${literal(quoted(name))})) AS schema_${at}`,
    )
    .join(', ')}`;

export function foundSchema(answers: readonly { readonly rows: readonly Record<string, unknown>[] }[], at: number): string | undefined {
  const row = answers.flatMap(({ rows }) => rows).find((one) => `schema_${at}` in one);
  const name = row?.[`schema_${at}`];
  return typeof name === 'string' ? name : undefined;
}
