import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { ENTRIES } from '../../bench/imports/entries.ts';
import { loadedBy } from '../../bench/imports/fresh.ts';
import { section } from '../../bench/imports/section.ts';
import { limitsOf, measureUses } from '../../bench/imports/sizes.ts';
import type { Measured } from '../../bench/section.ts';

/** Of other packages, before anything is called. An SDK, telemetry or a schema library in the others would be paid for at every cold start. */
const OF_CORE = ['canonicalize', 'devalue'];
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(ENTRIES.map((entry) => [entry, OF_CORE])),
  'rerunsafe/azure-functions': [...OF_CORE, 'structured-headers'],
  'rerunsafe/aws-lambda': [...OF_CORE, 'structured-headers'],
  'rerunsafe/client': [...OF_CORE, 'structured-headers'],
  'rerunsafe/opentelemetry': ['@opentelemetry/api', ...OF_CORE],
};

const LIMITS = new URL('../../bench/imports/limits.json', import.meta.url);

describe('what it costs to start', () => {
  it('an import loads these packages and no other, until something is called', async () => {
    const loaded = await Promise.all(ENTRIES.map(async (entry) => [entry, Object.keys((await loadedBy(entry)).foreign).sort()] as const));
    expect(Object.fromEntries(loaded)).toEqual(FOREIGN);
  });

  it('a bundle is no larger than it was, whatever is used', async () => {
    const uses = await measureUses();
    const limits = JSON.parse(await readFile(LIMITS, 'utf8')) as Readonly<Record<string, number>>;
    const larger = Object.entries(uses).filter(([name, { brotli }]) => !(brotli <= (limits[name] ?? 0)));
    const told = `if that is worth it, bench/imports/limits.json is to be ${JSON.stringify(limitsOf(uses), undefined, 2)}`;
    expect(Object.fromEntries(larger.map(([name, { brotli }]) => [name, brotli])), told).toEqual({});
    expect(Object.keys(limits)).toEqual(Object.keys(uses));
  });

  describe('by the benchmark, once around', () => {
    let measured: Measured;
    beforeAll(async () => {
      measured = await section.measure({ share: 0.01 });
    });

    it('every entry point is measured beside the others', () => {
      const [times] = measured.tables;
      const names = times?.rows.map(([name]) => name);
      expect(names?.slice(0, ENTRIES.length)).toEqual(ENTRIES);
      expect(names).toEqual(expect.arrayContaining(['@aws-lambda-powertools/idempotency', '@node-idempotency/core', 'redlock', 'redis-semaphore']));
    });

    it('figures with a goal are a number each', () => {
      const goals = measured.figures.filter(({ goal }) => goal !== undefined);
      expect(goals.map(({ name, unit, goal }) => [name, unit, goal])).toEqual([
        ["import of rerunsafe + an adapter ÷ Powertools' core import", '×', 0.15],
        ['core + one adapter + one store, minified + compressed (brotli), without SDK: Lambda + DynamoDB', 'bytes', 12_000],
        ['core + one adapter + one store, minified + compressed (brotli), without SDK: Azure Functions + Table Storage', 'bytes', 12_000],
      ]);
      expect(measured.figures.every(({ value }) => value > 0)).toBe(true);
    });
  });
});
