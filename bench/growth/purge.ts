/**
 * A clean-up of a tenth of a large table, and what those feel who call meanwhile.
 *
 * @module
 */
import { runOnce } from 'rerunsafe';
import { type Counted, open, type Place, TITLES } from '../measure/counted-stores.ts';
import type { Figure, Table } from '../section.ts';
import { OPERATION, VALUE } from './fill.ts';
import { counted } from './filled.ts';

export interface Purged {
  readonly place: Place;
  readonly records: number;
  readonly removed: number;
  readonly tookMs: number;
  /** First runs, one after the other: alone, and during the clean-up. */
  readonly alone: Latencies;
  readonly meanwhile: Latencies;
}

interface Latencies {
  readonly calls: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

export async function measurePurge(place: Place, records: number, expired: number, aloneMs: number): Promise<Purged> {
  const callers = await open(place);
  const cleaner = await open(place);
  try {
    const until = performance.now() + aloneMs;
    const alone = await firstRuns(callers, 'alone', () => performance.now() < until);
    let removed: number | undefined;
    const began = performance.now();
    const purging = cleaner.store.purge({}).then((done) => {
      removed = done.removed;
      return performance.now() - began;
    });
    const meanwhile = await firstRuns(callers, 'meanwhile', () => removed === undefined);
    const tookMs = await purging;
    if (removed !== expired) throw new Error(`${removed} were removed, and ${expired} had expired`);
    return { place, records, removed: expired, tookMs, alone, meanwhile };
  } finally {
    await cleaner.close();
    await callers.close();
  }
}

async function firstRuns({ store }: Counted, name: string, goesOn: () => boolean): Promise<Latencies> {
  const ms: number[] = [];
  do {
    const began = performance.now();
    await runOnce({ store, operation: OPERATION, key: `${name} ${ms.length}` }, () => VALUE);
    ms.push(performance.now() - began);
  } while (goesOn());
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (q: number): number => sorted[Math.ceil(q * sorted.length) - 1] ?? Number.NaN;
  return { calls: sorted.length, medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
}

export function purgeTable(all: readonly Purged[]): Table {
  const told = ({ medianMs, p99Ms, longestMs }: Latencies): string => `${medianMs.toFixed(1)} / ${p99Ms.toFixed(1)} / ${longestMs.toFixed(1)}`;
  return {
    title: 'A clean-up of what has expired, and first runs meanwhile',
    columns: ['store', 'removed', 'took, s', 'first run alone: median / p99 / longest, ms', 'meanwhile', 'calls meanwhile'],
    rows: all.map(({ place, records, removed, tookMs, alone, meanwhile }) => [
      TITLES[place.kind],
      `${counted(removed)} of ${counted(records)}`,
      (tookMs / 1_000).toFixed(1),
      told(alone),
      told(meanwhile),
      String(meanwhile.calls),
    ]),
    note: 'The clean-up and the calls are in one process, each with connections of its own. Redis, DynamoDB: the service removes what has expired by itself.',
  };
}

export function purgeFigures(all: readonly Purged[]): Figure[] {
  return all.flatMap(({ place, records, removed, tookMs, alone, meanwhile }): Figure[] => {
    const what = `clean-up of ${counted(removed)} expired out of ${counted(records)}, ${TITLES[place.kind]}`;
    return [
      { name: what, value: Math.round(tookMs), unit: 'ms' },
      { name: `${what}: p99 of a first run meanwhile ÷ without`, value: meanwhile.p99Ms / alone.p99Ms, unit: '×' },
    ];
  });
}
