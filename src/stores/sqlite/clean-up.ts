/**
 * Looking through the table page by page: no statement stays open between two pages, so writers, checkpoints and the event loop go on meanwhile.
 *
 * @module
 */
import type { Listed, ListQuery, PurgeQuery, Stored } from '../../core/ports.ts';
import { isPurgeable, unlessTooNew } from '../../core/purge.ts';
import type { RecordId, StoredRecord, Version } from '../../core/record.ts';
import { isWanted } from '../../core/wanted.ts';
import type { Connection } from './connection.ts';
import { type Sql, toRecord } from './table.ts';

const PAGE_ROWS = 250;

export interface Table {
  readonly connection: Connection;
  readonly sql: Sql;
  toStored(record: StoredRecord): Stored;
}

type LightRow = Readonly<Record<string, unknown>> & { readonly id: RecordId };

async function* pages({ connection, sql }: Table, operation: string | undefined): AsyncGenerator<readonly LightRow[]> {
  let after = '';
  for (;;) {
    const page = await connection.read(undefined, ({ prepare }) =>
      operation === undefined ? prepare(sql.page).all(after, PAGE_ROWS) : prepare(sql.pageOfOperation).all(operation, after, PAGE_ROWS),
    );
    const rows = page as readonly unknown[] as readonly LightRow[];
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    after = last.id;
  }
}

export async function* scan(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  const { connection, sql, toStored } = table;
  for await (const rows of pages(table, query.operation)) {
    for (const { id, ...row } of rows) {
      if (!isWanted(toStored(toRecord(row)), query)) continue;
      // Bodies one by one: a page of them could be gigabytes.
      const whole = await connection.read(undefined, ({ prepare }) => prepare(sql.find).get(id));
      const found = whole === undefined ? undefined : toStored(toRecord(whole));
      if (found !== undefined && isWanted(found, query)) yield { id, ...found };
    }
  }
}

/**
 * Found under no lock, removed under one, each on condition of the version it was judged by. As many to a commit as there are rows in a page, however many
 * pages they come from: writers wait for each commit, and each waits for the disk.
 */
export async function purgeTable(table: Table, uncertaintyMs: number, query: PurgeQuery): Promise<{ removed: number }> {
  const { connection, sql, toStored } = table;
  const { operation, limit = Number.POSITIVE_INFINITY } = query;
  let removed = 0;
  let due: { readonly id: RecordId; readonly version: Version }[] = [];
  const flush = async (): Promise<void> => {
    const wanted = due.splice(0, limit - removed);
    due = [];
    if (wanted.length === 0) return;
    removed += await connection.write(
      undefined,
      ({ prepare }) => wanted.filter(({ id, version }) => prepare(sql.remove).run(id, version).changes === 1).length,
    );
  };
  if (limit <= 0) return { removed };
  for await (const rows of pages(table, operation)) {
    const found = rows.flatMap(({ id, ...row }) => unlessTooNew(() => ({ id, ...toStored(toRecord(row)) })));
    due.push(...found.filter((one) => isPurgeable(one, query, uncertaintyMs)).map(({ id, version }) => ({ id, version })));
    if (due.length >= Math.min(PAGE_ROWS, limit - removed)) await flush();
    if (removed >= limit) return { removed };
  }
  await flush();
  return { removed };
}
