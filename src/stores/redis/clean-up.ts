/**
 * Looking through the records: the server's own scan over the keys with our prefix, on every primary. An index would have to lie in one slot with all
 * records, would cost every write something, and could come apart from them.
 *
 * @module
 */
import type { Listed, ListQuery, PurgeQuery, Stored } from '../../core/ports.ts';
import { purgeListed, unlessTooNew } from '../../core/purge.ts';
import type { RecordId } from '../../core/record.ts';
import { isWanted } from '../../core/wanted.ts';
import type { Connection } from './connection.ts';
import type { Rows } from './rows.ts';

const KEYS_A_STEP = '500';
/** Enough to keep the connection busy, far below what would hold up others on it. */
const READS_AT_ONCE = 64;

export interface Table {
  readonly connection: Connection;
  readonly rows: Rows;
  readonly prefix: string;
}

/** The server may tell a key twice. */
async function* ids({ connection, prefix }: Table): AsyncGenerator<RecordId[]> {
  const before = `${connection.keyPrefix}${prefix}`;
  const pattern = `${before.replace(/[*?[\]\\^]/g, '\\$&')}*`;
  const seen = new Set<RecordId>();
  for (const send of await connection.masters()) {
    let cursor = '0';
    do {
      const [next, keys] = (await send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', KEYS_A_STEP, 'TYPE', 'hash'])) as [unknown, string[]];
      cursor = String(next);
      const fresh = keys.map((key) => key.slice(before.length)).filter((id) => !seen.has(id));
      for (const id of fresh) seen.add(id);
      for (let at = 0; at < fresh.length; at += READS_AT_ONCE) yield [...new Set(fresh.slice(at, at + READS_AT_ONCE))];
    } while (cursor !== '0');
  }
}

/** What `read` throws for a record is thrown when its turn comes. */
async function* light(table: Table, operation: string | undefined): AsyncGenerator<{ id: RecordId; read: () => Stored | undefined }> {
  for await (const page of ids(table)) {
    const found = await Promise.allSettled(page.map((id) => table.rows.findLight(id, operation)));
    for (const [at, result] of found.entries()) {
      const read = (): Stored | undefined => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      };
      yield { id: page[at] as RecordId, read };
    }
  }
}

export async function* scan(table: Table, query: ListQuery): AsyncGenerator<Listed> {
  for await (const { id, read } of light(table, query.operation)) {
    const seen = read();
    if (seen === undefined || !isWanted(seen, query)) continue;
    // Bodies one by one: a page of them could be gigabytes.
    const whole = await table.rows.find(id);
    if (whole !== undefined && isWanted(whole, query)) yield { id, ...whole };
  }
}

async function* purgeable(table: Table, { operation }: PurgeQuery): AsyncGenerator<Listed> {
  for await (const { id, read } of light(table, operation)) {
    for (const found of unlessTooNew(read)) {
      if (found !== undefined) yield { id, ...found };
    }
  }
}

/** Little is left for it: the server removes what has expired by itself. */
export const purgeTable = (table: Table, uncertaintyMs: number, query: PurgeQuery): Promise<{ removed: number }> =>
  purgeListed(purgeable(table, query), (id, version) => table.rows.remove(id, version), query, uncertaintyMs);
