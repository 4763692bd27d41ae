/**
 * Writes the golden rows of the current schema that are not there yet, by hand: `node test/golden/write.ts && npm run format`. Those that are there were
 * written by earlier code, and stay; `--all` writes them anew, which is only right when the form of records was changed on purpose.
 *
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type RecordId, SCHEMA, type StoredRecord } from '../../src/core/record.ts';
import { type GoldenFile, named, pathOf } from './files.ts';
import { fixed, fixedTtl } from './fixed.ts';
import { type Place, type PlaceKind, placeKinds, type RawRow } from './places.ts';
import { scenariosOf } from './scenarios.ts';

/** Runs all scenarios there. The rows as they lie, by name, and each record as today's code reads it. */
export async function writeAll({ store, dump }: Place): Promise<{ rows: Record<string, RawRow>; records: Record<string, StoredRecord> }> {
  const records: Record<string, StoredRecord> = {};
  for (const { name, id, leave } of scenariosOf(store)) {
    await leave(store);
    const standing = await store.read(id as RecordId);
    if (standing === undefined) throw new Error(`${name} has left nothing`);
    records[name] = standing.record;
  }
  return { rows: named(await dump()), records };
}

async function writeFile(kind: PlaceKind): Promise<void> {
  const nowMs = Date.now();
  const server = await kind.start();
  try {
    const { rows, records } = await writeAll(await server.place());
    const nonces = new Map<string, string>();
    for (const [name, { owner, revision }] of Object.entries(records)) {
      // Where a part lies follows from its owner.
      if (!name.includes('parts')) nonces.set(owner, owner.startsWith('golden') ? owner : `golden-owner-of-${name}`);
      nonces.set(revision, `golden-revision-of-${name}`);
    }
    const byName = Object.entries(rows).map(([name, row]) => [name, fixedTtl(fixed(row, nonces, nowMs) as RawRow, nowMs)]);
    const path = pathOf(SCHEMA, kind);
    const kept = existsSync(path) && !process.argv.includes('--all') ? (JSON.parse(readFileSync(path, 'utf8')) as GoldenFile) : undefined;
    // What lies beside a record comes with it.
    const isNew = ([name]: [string, unknown]): boolean => kept?.records[name.replace(/\+\d+$/, '')] === undefined;
    const added = <V>(named: Record<string, V>): Record<string, V> => Object.fromEntries(Object.entries(named).filter(isNew));
    const golden = {
      schema: SCHEMA,
      records: { ...kept?.records, ...added(fixed(records, nonces, nowMs) as GoldenFile['records']) },
      rows: { ...kept?.rows, ...added(Object.fromEntries(byName) as GoldenFile['rows']) },
    };
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(golden, null, 2)}\n`);
    console.log(`${path}: ${Object.keys(rows).length} rows`);
  } finally {
    await server.stop();
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const kind of await placeKinds()) await writeFile(kind);
  process.exit();
}
