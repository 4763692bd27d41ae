/**
 * The tables as a numbered list that a team can review and run with its own tool, and running what of it has not been run.
 *
 * @module
 */
import { checkOptions } from '../../core/options.ts';
import { mapError } from './map-error.ts';
import { DEFAULT_TABLE_NAME, qualified, quoted, TABLE_RULES } from './names.ts';
import { OUTBOX_RULES, outboxDdl } from './outbox-table.ts';
import { recordDdl } from './record-ddl.ts';
import { type Connects, inTransaction, type Transaction } from './transaction.ts';

export interface TablePlace {
  /** Must be there already, except for `setUp()`, which makes it where the role may. Default: the first of the search path. */
  readonly schema?: string | undefined;
  /** At most 40 bytes. Default `rerunsafe`. */
  readonly tableName?: string | undefined;
  /** Default `rerunsafe_outbox`. */
  readonly outboxTable?: string | undefined;
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** One or more statements; safe to run again, and it notes that it was run. To be run in a transaction. */
  readonly sql: string;
}

/** Several minutes of work of another set-up are not to be waited for; an index on a large table is. */
const LOCK_LIMIT_MS = 60_000;

/**
 * All migrations, in order. `setUp()` runs the same, so either will do; a later version of this package only ever adds to the list.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`
 *
 * @example for (const { version, name, sql } of migrations({ schema: 'ops' })) writeFileSync(`V${version}__${name}.sql`, sql);
 */
export function migrations(place: TablePlace = {}): readonly Migration[] {
  checkOptions('migrations', place, { ...TABLE_RULES, ...OUTBOX_RULES });
  const { schema, tableName = DEFAULT_TABLE_NAME, outboxTable } = place;
  const history = qualified(historyOf(tableName), schema);
  const list = [
    { name: 'records', sql: `${historyDdl(history)}\n${recordDdl(tableName, schema)}` },
    { name: 'outbox', sql: outboxDdl({ schema, outboxTable }).trim() },
  ];
  return list.map(({ name, sql }, at) => {
    const version = at + 1;
    return { version, name, sql: `${sql}\nINSERT INTO ${history} (version, name) VALUES (${version}, '${name}') ON CONFLICT DO NOTHING;\n` };
  });
}

const historyOf = (tableName: string): string => `${tableName}_migrations`;

const historyDdl = (history: string): string => `CREATE TABLE IF NOT EXISTS ${history} (
  version integer NOT NULL PRIMARY KEY,
  name text NOT NULL,
  ran_at timestamptz NOT NULL DEFAULT clock_timestamp()
);`;

/**
 * Any number at once: the first does it, the others wait and find it done. A role that may not create anything does well where all is there.
 *
 * @throws RerunSafeError `STORE_UNAVAILABLE`, `STORE_MISCONFIGURED`: nothing was made; `WRITE_UNKNOWN`: set up again.
 */
export async function runMigrations(pool: Connects, place: TablePlace): Promise<void> {
  const { schema, tableName = DEFAULT_TABLE_NAME } = place;
  const history = qualified(historyOf(tableName), schema);
  try {
    // Whoever had to wait must see what was committed meanwhile.
    await inTransaction(pool, { isolation: 'read committed', lockTimeoutMs: LOCK_LIMIT_MS }, async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rerunsafe set-up ${history}`]);
      if (schema !== undefined) await makeSchema(tx, schema);
      const done = await alreadyRun(tx, history);
      for (const { version, sql } of migrations(place)) {
        if (!done.has(version)) await tx.query(sql);
      }
    });
  } catch (error) {
    throw mapError(error, 'set-up', false);
  }
}

/** `IF NOT EXISTS` asks for the right to create before it looks. */
async function makeSchema(tx: Transaction, schema: string): Promise<void> {
  const { rows } = await tx.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await tx.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`);
}

async function alreadyRun(tx: Transaction, history: string): Promise<ReadonlySet<number>> {
  const { rows } = await tx.query('SELECT to_regclass($1) IS NOT NULL AS there', [history]);
  if (rows[0]?.there !== true) return new Set();
  const ran = await tx.query(`SELECT version FROM ${history}`);
  return new Set(ran.rows.map(({ version }) => Number(version)));
}
