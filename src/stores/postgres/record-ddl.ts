/**
 * The table of records, as SQL.
 *
 * @module
 */
import { qualified, quoted } from './names.ts';

/**
 * - `COLLATE "C"`: an upgrade of the operating system's collations can break the order of an index, and a key that is there is then not found: a second
 *   row, a second run.
 * - No index on anything that changes: each completion then stays on its page (a HOT update) and costs no index a write. `fillfactor` keeps the room.
 * - `body` is text, not jsonb: jsonb refuses `\u0000`, and would be parsed at every write for nobody.
 * - Numbers are int8, times are epoch ms: no time zone, no driver's idea of a date.
 */
export function recordDdl(tableName: string, schema?: string): string {
  const table = qualified(tableName, schema);
  const check = (what: string): string => quoted(`${tableName}_${what}`);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  schema int8 NOT NULL,
  operation text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  revision text COLLATE "C" NOT NULL,
  token int8 NOT NULL,
  attempt int8 NOT NULL,
  lease_ms int8 NOT NULL,
  retention_ms int8 NOT NULL,
  written_at_ms int8 NOT NULL,
  created_at_ms int8 NOT NULL,
  label text,
  fingerprint text,
  holder text,
  slot int8,
  body text,
  CONSTRAINT ${check('state')} CHECK (state IN ('running', 'completed', 'released', 'blocked')),
  CONSTRAINT ${check('numbers')} CHECK (token >= 0 AND attempt >= 0 AND lease_ms >= 0 AND retention_ms >= 0 AND written_at_ms > 0)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS ${quoted(`${tableName}_operation`)} ON ${table} (operation, id);`;
}
