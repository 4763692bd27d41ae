/**
 * The files of golden rows: `v1/<store>.json`. Bytes lie there as `{ "base64": "…" }`.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredRecord } from '../../src/core/record.ts';
import type { PlaceKind, RawRow } from './places.ts';
import { SCENARIOS } from './scenarios.ts';

export interface GoldenFile {
  readonly schema: number;
  /** What the version that wrote it made of each, by the name of its scenario. */
  readonly records: Readonly<Record<string, StoredRecord>>;
  /** By the name of the scenario that left it; `+1`, …: what lies beside it. */
  readonly rows: Readonly<Record<string, RawRow>>;
}

export const pathOf = (schema: number, { name }: PlaceKind): string => join(import.meta.dirname, `v${schema}`, `${name}.json`);

export const readGolden = (schema: number, kind: PlaceKind): GoldenFile =>
  JSON.parse(readFileSync(pathOf(schema, kind), 'utf8'), (_, value: unknown) => fromText(value)) as GoldenFile;

const fromText = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'base64' in value ? Buffer.from(String(value.base64), 'base64') : value;

/** Names rows by the record that they are, or lie beside. */
export function named(rows: readonly RawRow[]): Record<string, RawRow> {
  const found: Record<string, RawRow> = {};
  for (const { name, id } of SCENARIOS) {
    const own = rows.filter((row) => JSON.stringify(row).includes(id));
    const [record, ...others] = [...own.filter(isRecord), ...own.filter((row) => !isRecord(row))];
    if (record === undefined) continue;
    found[name] = record;
    const sorted = others.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    for (const [n, row] of sorted.entries()) found[`${name}+${n + 1}`] = row;
  }
  return found;
}

const isRecord = (row: RawRow): boolean => 'revision' in row || 'fields' in row;
