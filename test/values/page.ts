/**
 * The tables of `docs/values.md`, made from what the tests run over. `node test/values/page.ts` writes them into the page.
 *
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ROOT } from '../../scripts/run.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { tableStore } from '../../src/stores/azure-tables/index.ts';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { KEPT, type Kind } from '../support/values.ts';
import { NOT_KEPT } from '../support/values-not-kept.ts';

export const PAGE = join(ROOT, 'docs/values.md');

/** With their defaults. None of them is connected. */
export const STORES: readonly (readonly [string, RecordStore])[] = [
  ['memoryStore', memoryStore()],
  ['sqliteStore', sqliteStore({ path: ':memory:' })],
  ['postgresStore', postgresStore({ connectionString: 'postgres://nowhere' })],
  ['redisStore', redisStore({ client: new Redis({ lazyConnect: true }) })],
  ['dynamodbStore', dynamodbStore({ tableName: 'nowhere' })],
  ['tableStore', tableStore()],
];

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly string[]): string => [row(...head), row(...head.map(() => '---')), ...rows].join('\n');

const kinds = (of: readonly Kind[], kept: string): string[] => of.map(({ kind, note = '' }) => row(kind, kept, note));

function bytes(count: number): string {
  const [unit, by] = count >= 1_048_576 ? ['MiB', 1_048_576] : count >= 1_024 ? ['KiB', 1_024] : ['bytes', 1];
  return `${Math.floor((count / Number(by)) * 10) / 10} ${unit}`;
}

const limits = STORES.map(([name, store]) => {
  const { maxRecordBytes, inlineBytes, parts } = store.limits;
  return row(
    `\`${name}\``,
    bytes(maxRecordBytes),
    parts === undefined ? 'all of it' : `up to ${bytes(inlineBytes)}`,
    parts === undefined ? 'none' : `${bytes(parts.bytesEach * parts.most)} in ${parts.most} parts of ${bytes(parts.bytesEach)}`,
  );
});

export const TABLES: Readonly<Record<string, string>> = {
  values: table(['value', 'kept', ''], [...kinds(KEPT, 'yes'), ...kinds(NOT_KEPT, '**no**')]),
  limits: table(['store', 'a record', 'an outcome in the record', 'an outcome beside it'], limits),
};

/** The page with these tables in it. */
export function withTables(page: string): string {
  let written = page;
  for (const [name, made] of Object.entries(TABLES)) {
    written = written.replace(
      new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- /${name} -->)`),
      (_, before, after) => `${before}\n${made}\n${after}`,
    );
  }
  return written;
}

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8')));
