import { describe, expect, it } from 'vitest';
import { byLength, LONG } from '../support/long.ts';
import { runSeed, type ScenarioName } from './batch.ts';
import { line, simulated } from './run.ts';
import kept from './seeds.json' with { type: 'json' };
import { described, shrink } from './shrink.ts';

/** `SEEDS=5000 FROM=1000000 vitest run test/simulation` runs so many of each scenario from there; many more, or one: `node test/simulation/run.ts`. */
const { SEEDS, FROM = '1' } = process.env;
/** Leases take three times as long. */
const USUAL: Readonly<Record<ScenarioName, number>> = byLength(
  { records: 6_000, leases: 6_000 },
  { records: 150_000, leases: 50_000 },
  { records: 1_000_000, leases: 1_000_000 },
);
const countOf = (scenario: ScenarioName): number => (SEEDS === undefined ? USUAL[scenario] : Number(SEEDS));
/** The many run as plain programs, without what a test runner puts between modules. */
const WORKERS = LONG && SEEDS === undefined ? 2 : 1;
const limitOf = (scenario: ScenarioName): number => 120_000 + countOf(scenario) * 10;

async function runSeeds(scenario: ScenarioName): Promise<void> {
  const report = await simulated(scenario, Number(FROM), countOf(scenario), WORKERS);
  console.log(line(report));
  const [first] = report.broken;
  expect(first === undefined ? '' : described(await shrink(first))).toBe('');
  expect(report.missing).toEqual([]);
}

describe('under random faults, pauses and crashes', () => {
  it('I1 I2 I3 I4 I5 I6 I7 I8 I10 I12 a key has one outcome, whatever happens to its callers', () => runSeeds('records'), limitOf('records'));

  it(
    'I4 I5 I6 I7 I8 I10 I12 a named lease has one holder, and a stale one writes nothing, whatever happens to those who want it',
    () => runSeeds('leases'),
    limitOf('leases'),
  );

  it.each(kept)('$scenario, seed $seed, which has found something: $because', async ({ scenario, seed }) => {
    const { wrong } = await runSeed(scenario as ScenarioName, seed);
    expect(wrong).toEqual([]);
  });
});
