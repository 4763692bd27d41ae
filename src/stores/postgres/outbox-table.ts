/**
 * The outbox's tables, and every statement on them.
 *
 * @module
 */
import type { Rule, Rules } from '../../core/options.ts';
import { qualified, quoted, TABLE_RULES } from './names.ts';

export const DEFAULT_OUTBOX_TABLE = 'rerunsafe_outbox';

export interface OutboxPlacing {
  /** Default: the first of the search path that has the table. */
  readonly schema?: string | undefined;
  /** Default `rerunsafe_outbox`. */
  readonly outboxTable?: string | undefined;
}

/** Short enough for what is appended to name its indexes. */
export const OUTBOX_RULES: Rules = { schema: TABLE_RULES.schema as Rule, outboxTable: TABLE_RULES.tableName as Rule };

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Safe to run again. Delivered rows are deleted, so a look at the table is a look at what waits. */
export function outboxDdl({ schema, outboxTable = DEFAULT_OUTBOX_TABLE }: OutboxPlacing): string {
  const table = qualified(outboxTable, schema);
  const index = (what: string): string => quoted(`${outboxTable}_${what}`);
  return `
CREATE TABLE IF NOT EXISTS ${table} (
  id text NOT NULL PRIMARY KEY,
  position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  topic text NOT NULL,
  order_key text,
  -- Not jsonb, which refuses \\u0000 in a text.
  payload json NOT NULL,
  created_at_ms bigint NOT NULL DEFAULT ${NOW_MS},
  attempts integer NOT NULL DEFAULT 0,
  due_at_ms bigint NOT NULL DEFAULT 0,
  parked_at_ms bigint,
  last_error text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- What waits, in order; a parked row is not in the way.
CREATE INDEX IF NOT EXISTS ${index('waiting')} ON ${table} (position) WHERE parked_at_ms IS NULL;
-- The few that have failed, and whose keys wait for them.
CREATE INDEX IF NOT EXISTS ${index('retrying')} ON ${table} (due_at_ms, order_key) WHERE parked_at_ms IS NULL AND due_at_ms > 0;
-- The few that are kept for people.
CREATE INDEX IF NOT EXISTS ${index('parked')} ON ${table} (position, order_key) WHERE parked_at_ms IS NOT NULL;
CREATE TABLE IF NOT EXISTS ${qualified(`${outboxTable}_relay`, schema)} (
  only_one boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (only_one),
  token bigint NOT NULL,
  owner text NOT NULL,
  entered_at_ms bigint NOT NULL DEFAULT ${NOW_MS}
);`;
}

export interface OutboxSql {
  readonly lockKeys: string;
  readonly insert: string;
  readonly enter: string;
  readonly take: string;
  readonly takeHolding: string;
  readonly settle: string;
  readonly waiting: string;
  readonly parked: string;
  readonly unpark: string;
  readonly dropParked: string;
}

export function outboxSql({ schema, outboxTable = DEFAULT_OUTBOX_TABLE }: OutboxPlacing): OutboxSql {
  const table = qualified(outboxTable, schema);
  const relay = qualified(`${outboxTable}_relay`, schema);
  return {
    // In the order of the locks themselves: two transactions with the same keys never wait for each other.
    lockKeys: `SELECT pg_advisory_xact_lock(lock) FROM (
      SELECT DISTINCT hashtextextended(key, '${table.replaceAll("'", "''")}'::regclass::oid::bigint) AS lock FROM unnest($1::text[]) AS key ORDER BY lock OFFSET 0
    ) AS locks`,
    insert: `INSERT INTO ${table} (id, topic, order_key, payload)
      SELECT id, topic, order_key, payload::json FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
        WITH ORDINALITY AS message (id, topic, order_key, payload, n) ORDER BY n
      ON CONFLICT (id) DO NOTHING`,
    enter: `INSERT INTO ${relay} AS standing (token, owner) VALUES ($1, $2)
      ON CONFLICT (only_one) DO UPDATE SET token = excluded.token, owner = excluded.owner, entered_at_ms = excluded.entered_at_ms
      WHERE standing.token < excluded.token OR (standing.token = excluded.token AND standing.owner = excluded.owner)
      RETURNING token`,
    take: take(table, ''),
    takeHolding: take(table, `UNION ALL SELECT order_key FROM ${table} WHERE parked_at_ms IS NOT NULL AND order_key IS NOT NULL`),
    // The relay's row stays locked until the marks are committed: the next relay enters before them, or after.
    settle: `WITH relay AS MATERIALIZED (
        SELECT token FROM ${relay} WHERE token = $1 AND owner = $2 FOR SHARE
      ), delivered AS (
        DELETE FROM ${table} WHERE id = ANY ($3::text[]) AND EXISTS (SELECT FROM relay)
      ), failed AS (
        UPDATE ${table} AS message SET
          attempts = failure.attempts, last_error = failure.error,
          due_at_ms = coalesce(${NOW_MS} + failure.delay_ms, 0),
          parked_at_ms = CASE WHEN failure.delay_ms IS NULL THEN ${NOW_MS} END
        FROM unnest($4::text[], $5::integer[], $6::bigint[], $7::text[]) AS failure (id, attempts, delay_ms, error)
        WHERE message.id = failure.id AND EXISTS (SELECT FROM relay)
      )
      SELECT (SELECT count(*) FROM relay)::integer AS held, (SELECT token FROM ${relay}) AS token`,
    waiting: `SELECT count(*)::integer AS count FROM ${table} WHERE parked_at_ms IS NULL`,
    parked: `SELECT id, position, topic, order_key, payload::text AS payload, attempts, created_at_ms, parked_at_ms, last_error
      FROM ${table} WHERE parked_at_ms IS NOT NULL AND position > $1 ORDER BY position LIMIT $2`,
    unpark: `UPDATE ${table} SET parked_at_ms = NULL, attempts = 0, due_at_ms = 0 WHERE id = $1 AND parked_at_ms IS NOT NULL`,
    dropParked: `DELETE FROM ${table} WHERE id = $1 AND parked_at_ms IS NOT NULL`,
  };
}

/**
 * Every row is looked for in one snapshot; those that somebody else has locked at this moment come without a message, so that the rest of their key can be
 * left alone.
 */
const take = (table: string, held: string): string => `WITH clock AS MATERIALIZED (
    SELECT ${NOW_MS} AS ms
  ), first AS MATERIALIZED (
    SELECT id, position, order_key FROM ${table}
    WHERE parked_at_ms IS NULL AND due_at_ms <= (SELECT ms FROM clock)
      AND (order_key IS NULL OR order_key NOT IN (
        SELECT order_key FROM ${table}
        WHERE parked_at_ms IS NULL AND due_at_ms > 0 AND due_at_ms > (SELECT ms FROM clock) AND order_key IS NOT NULL
        ${held}
      ))
    ORDER BY position LIMIT $1
  ), ours AS MATERIALIZED (
    SELECT id, topic, payload::text AS payload, attempts, created_at_ms FROM ${table}
    WHERE id IN (SELECT id FROM first) AND parked_at_ms IS NULL
    FOR UPDATE SKIP LOCKED
  )
  SELECT first.id, first.order_key, ours.topic, ours.payload, ours.attempts, ours.created_at_ms
  FROM first LEFT JOIN ours USING (id) ORDER BY first.position`;
