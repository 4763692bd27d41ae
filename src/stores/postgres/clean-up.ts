/**
 * Looking through the table page by page, each a short statement of its own: no snapshot stays open between two pages, so vacuum goes on meanwhile.
 *
 * @module
 */
import { type Listed, type ListQuery, PURGE_MIN_AGE_MS, type PurgeQuery, type Stored } from '../../core/ports.ts';
import { isPurgeable, unlessTooNew } from '../../core/purge.ts';
import type { RecordId } from '../../core/record.ts';
import { isWanted } from '../../core/wanted.ts';
import type { Connection, Row } from './connection.ts';
import { idOf, lightColumns, NOW_MS } from './table.ts';
import { escaped } from './text.ts';

const PAGE_ROWS = 500;
/** Of bodies that are held at a time. */
const BATCH_BYTES = 4 * 1_048_576;

export interface Table {
  readonly connection: Connection;
  /** Quoted, and with its schema where it has one. */
  readonly name: string;
  toStored(row: Row): Stored;
}

interface Filter {
  /** On the page, as `p`; parameters from `$3`. The server's time is `page.now_ms`. */
  readonly where: string;
  readonly values: readonly unknown[];
}

/** Rows without their bodies, in the order of their ids; how many rows a statement looks at is bounded, not only how many it brings. */
async function* pages({ connection, name }: Table, operation: string | undefined, { where, values }: Filter): AsyncGenerator<readonly Row[]> {
  const only = operation === undefined ? '' : `AND s.operation = $${values.length + 3}`;
  const text = `WITH page AS MATERIALIZED (
  SELECT ${lightColumns('s')}, octet_length(s.body) AS body_bytes FROM ${name} AS s WHERE s.id > $1 ${only} ORDER BY s.id LIMIT $2
), seen AS MATERIALIZED (SELECT max(id) AS last_id, count(*) AS seen, ${NOW_MS} AS now_ms FROM page)
SELECT seen.*, p.* FROM seen LEFT JOIN page AS p ON ${where} ORDER BY p.id`;
  let after = '';
  for (;;) {
    const from = [after, PAGE_ROWS, ...values, ...(operation === undefined ? [] : [escaped(operation)])];
    const { rows } = await connection.call(undefined, (ask) => ask({ what: 'list', text, values: from, writes: false }));
    yield rows.filter(({ id }) => id !== null);
    const [first] = rows;
    if (first === undefined || Number(first.seen) < PAGE_ROWS) return;
    after = String(first.last_id);
  }
}

export async function* scan(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  const { scope, state, olderThanMs } = query;
  const filter = {
    where: '($3::text IS NULL OR p.state = $3) AND ($4::float8 IS NULL OR seen.now_ms - p.written_at_ms > $4) AND ($5::text IS NULL OR p.scope = $5)',
    values: [state ?? null, olderThanMs ?? null, scope ?? null],
  };
  for await (const rows of pages(table, query.operation, filter)) {
    for (const ids of batches(rows)) yield* (await whole(table, ids)).filter((found) => isWanted(found, query));
  }
}

/** A page of bodies could be gigabytes. */
function* batches(rows: readonly Row[]): Generator<readonly RecordId[]> {
  let ids: RecordId[] = [];
  let bytes = 0;
  for (const row of rows) {
    const more = Number(row.body_bytes ?? 0);
    if (ids.length > 0 && bytes + more > BATCH_BYTES) {
      yield ids;
      [ids, bytes] = [[], 0];
    }
    ids.push(idOf(row));
    bytes += more;
  }
  if (ids.length > 0) yield ids;
}

async function whole({ connection, name, toStored }: Table, ids: readonly RecordId[]): Promise<Listed[]> {
  const text = `SELECT ${NOW_MS} AS now_ms, s.* FROM ${name} AS s WHERE s.id = ANY ($1::text[]) ORDER BY s.id`;
  const { rows } = await connection.call(undefined, (ask) => ask({ what: 'list', text, values: [ids], writes: false }));
  return rows.map((row) => ({ id: idOf(row), ...toStored(row) }));
}

/**
 * What may be removed is judged in one place for all stores; the server only leaves out what never may. Each row is removed on condition of the version
 * it was judged by, and one that somebody has locked at this moment is left for the next time: a clean-up waits for nobody.
 */
export async function purgeTable(table: Table, uncertaintyMs: number, query: PurgeQuery): Promise<{ removed: number }> {
  const { operation, lapsedOlderThanMs, limit = Number.POSITIVE_INFINITY } = query;
  const filter = {
    where: `p.written_at_ms <= seen.now_ms - ${PURGE_MIN_AGE_MS} AND (CASE WHEN p.state = 'running' THEN $3::boolean ELSE p.written_at_ms + p.retention_ms < seen.now_ms END)`,
    values: [lapsedOlderThanMs !== undefined],
  };
  const text = `DELETE FROM ${table.name} AS r USING (
  SELECT s.id, s.revision FROM ${table.name} AS s JOIN unnest($1::text[], $2::text[]) AS due (id, revision) ON s.id = due.id AND s.revision = due.revision
  ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
) AS due WHERE r.id = due.id AND r.revision = due.revision`;
  let removed = 0;
  if (limit <= 0) return { removed };
  for await (const rows of pages(table, operation, filter)) {
    const due = rows
      .flatMap((row) => unlessTooNew(() => ({ row, stored: table.toStored(row) })).filter(({ stored }) => isPurgeable(stored, query, uncertaintyMs)))
      .slice(0, limit - removed);
    if (due.length > 0) {
      const values = [due.map(({ row }) => row.id), due.map(({ row }) => row.revision)];
      const { rowCount } = await table.connection.call(undefined, (ask) => ask({ what: 'purge', text, values, writes: true }));
      removed += rowCount ?? 0;
    }
    if (removed >= limit) break;
  }
  return { removed };
}
