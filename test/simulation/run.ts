/**
 * `node test/simulation/run.ts [--seeds N] [--from N] [--workers N] [--only records|leases]`: so many seeds in all.
 * `… --only records --seed N [--keep 'p1a.2,p2 crashed']`: one of them, of which nothing else happens than what is named.
 *
 * @module
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Broken, type Done, type Range, runBatch, runSeed, SCENARIOS, type ScenarioName } from './batch.ts';
import { EXPECTED, leastOf } from './expected.ts';
import { described, shrink } from './shrink.ts';
import { Tally } from './tally.ts';

const NAMES = Object.keys(SCENARIOS) as ScenarioName[];

export interface Report {
  readonly scenario: ScenarioName;
  readonly ranOf: number;
  readonly tally: Tally;
  readonly broken: readonly Broken[];
  /** What should have happened, and did not, or too seldom. */
  readonly missing: readonly string[];
  readonly cpuSeconds: number;
}

/** All in this thread, or each share in one of its own. */
export async function simulated(scenario: ScenarioName, from: number, seeds: number, workers = 1): Promise<Report> {
  const before = process.cpuUsage();
  const share = Math.ceil(seeds / workers);
  const ranges = Array.from({ length: workers }, (_, n): Range => ({ scenario, from: from + n * share, seeds: Math.min(share, seeds - n * share) }));
  const parts = await Promise.all(workers === 1 ? ranges.map((range) => runBatch(range)) : ranges.map(inWorker));
  const { user, system } = process.cpuUsage(before);
  const tally = new Tally();
  for (const { counts } of parts) tally.add(counts);
  const least = leastOf(seeds);
  return {
    scenario,
    ranOf: parts.reduce((sum, { ranOf }) => sum + ranOf, 0),
    tally,
    broken: parts.flatMap(({ broken }) => broken),
    missing: least === 0 ? [] : tally.missing(EXPECTED[scenario], least),
    cpuSeconds: (user + system) / 1e6,
  };
}

const inWorker = (range: Range): Promise<Done> =>
  new Promise((resolve, reject) => {
    // Few objects live longer than a seed: room for many seeds' worth of them saves most of what collecting costs, and still fits the caches.
    const worker = new Worker(join(import.meta.dirname, 'worker.ts'), { workerData: range, resourceLimits: { maxYoungGenerationSizeMb: 32 } });
    worker.once('message', resolve).once('error', reject);
  });

export const line = ({ scenario, ranOf, tally, broken, cpuSeconds }: Report): string =>
  `${scenario.padEnd(8)} ${String(ranOf).padStart(9)} seeds  ${cpuSeconds.toFixed(1).padStart(7)} CPU s  ${Math.round(ranOf / cpuSeconds)
    .toString()
    .padStart(6)} seeds/s  ${tally.counts.get('calls')} calls  ${tally.counts.get('writes')} accepted writes  ${broken.length} broken`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '20000' },
      from: { type: 'string', default: '1' },
      workers: { type: 'string', default: '1' },
      seed: { type: 'string' },
      only: { type: 'string' },
      keep: { type: 'string' },
      tallies: { type: 'boolean', default: false },
    },
  });
  const names = NAMES.filter((name) => values.only === undefined || values.only === name);
  if (names.length === 0) throw new Error(`--only ${NAMES.join(' or ')}`);
  const keep = values.keep?.split(',');
  if (values.seed !== undefined) {
    for (const name of names) await one(name, Number(values.seed), keep);
    return;
  }
  for (const name of names) {
    const report = await simulated(name, Number(values.from), Math.round(Number(values.seeds) / names.length), Number(values.workers));
    console.log(line(report));
    if (values.tallies) for (const [what, times] of [...report.tally.counts].sort()) console.log(`  ${String(times).padStart(9)} ${what}`);
    for (const broken of report.broken) console.log(`  broken: seed ${broken.seed}`);
    for (const broken of report.broken.slice(0, 1)) console.log(described(await shrink(broken)));
    for (const missing of report.missing) console.log(`  too seldom: ${missing}`);
    if (report.broken.length > 0 || report.missing.length > 0) process.exitCode = 1;
  }
}

async function one(scenario: ScenarioName, seed: number, keep: readonly string[] | undefined): Promise<void> {
  const { wrong, hash, happened } = await runSeed(scenario, seed, keep === undefined ? {} : { keep });
  console.log(`${scenario}, seed ${seed}: trace ${hash}, ${wrong.length === 0 ? 'nothing is wrong' : wrong.join('\n  ')}`);
  console.log(`  happened: ${happened.join(',')}`);
  if (wrong.length > 0) process.exitCode = 1;
}

if (process.argv[1] === import.meta.filename) await main();
