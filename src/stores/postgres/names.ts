/**
 * Names of tables and schemas, as options and in SQL.
 *
 * @module
 */
import type { Rule, Rules } from '../../core/options.ts';

export const DEFAULT_TABLE_NAME = 'rerunsafe';

/** PostgreSQL cuts longer ones without a word, and two of them could then be one. */
const MOST_BYTES = 63;
/** Room for what is appended to name indexes, constraints and tables that belong to it. */
const MOST_TABLE_BYTES = 40;

export const isIdentifier =
  (maxBytes = MOST_BYTES): Rule =>
  (value) =>
    typeof value === 'string' && value.length > 0 && Buffer.byteLength(value) <= maxBytes && !/[\p{Cc}\p{Surrogate}]/u.test(value)
      ? undefined
      : `must be a name of 1 to ${maxBytes} bytes, without control characters`;

/** Spread into the rules of whatever takes the place of the table as options. */
export const TABLE_RULES: Rules = { schema: isIdentifier(), tableName: isIdentifier(MOST_TABLE_BYTES) };

/** One identifier: exactly that name, whatever is in it. `Rerunsafe` and `rerunsafe` are two. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Without a schema it is found along the search path. */
export const qualified = (tableName: string, schema?: string): string => (schema === undefined ? '' : `${quoted(schema)}.`) + quoted(tableName);
