/**
 * `node test/planted/run.ts [--only <part of a name>]… [--long]`: plants each bug in a copy of the tree, and runs what has to notice it; then the same on
 * the copy without any bug, which must pass. `--long`: also those that need a server.
 *
 * @module
 */
import type { ByTests, PlantedBug } from './bug.ts';
import { BUGS } from './bugs.ts';
import { describeDetector, detect, detectAll, type Found } from './detect.ts';
import { Tree } from './tree.ts';

export interface Planted extends Found {
  readonly bug: PlantedBug;
  readonly caught: boolean;
}

export async function plant(tree: Tree, bug: PlantedBug): Promise<Planted> {
  const found = await tree.during(bug, () => detect(tree.folder, bug.caughtBy));
  return { bug, ...found, caught: found.failed === undefined && found.said !== undefined };
}

/** What the detectors say where nothing is planted, over the same seeds and the same tests. */
export async function control(tree: Tree, planted: readonly Planted[]): Promise<string[]> {
  const said: string[] = [];
  const tell = (what: string, { said: noticed, failed }: Found): void => {
    if (noticed !== undefined || failed !== undefined) said.push(`${what}, where nothing is planted: ${noticed ?? failed}`);
  };
  for (const detector of ['records', 'leases'] as const) {
    const budget = Math.max(0, ...planted.flatMap(({ bug, cases }) => (bug.caughtBy.detector === detector ? [cases] : [])));
    if (budget > 0) tell(detector, await detect(tree.folder, { detector, budget }));
  }
  const tests = planted.flatMap(({ bug: { caughtBy } }) => (caughtBy.detector === 'tests' ? [caughtBy] : []));
  for (const [title, files] of byTitle(tests)) tell([...files].join(', '), await detectAll(tree.folder, [...files], title, 600));
  return said;
}

/** Whole files together, and chosen tests together. */
function byTitle(tests: readonly ByTests[]): ReadonlyMap<string | undefined, ReadonlySet<string>> {
  const whole = tests.filter(({ title }) => title === undefined);
  const chosen = tests.filter(({ title }) => title !== undefined);
  const titles = [...new Set(chosen.map(({ title }) => title))].join('|');
  const groups: [string | undefined, readonly ByTests[]][] = [
    [undefined, whole],
    [titles, chosen],
  ];
  return new Map(groups.filter(([, group]) => group.length > 0).map(([title, group]) => [title, new Set(group.map(({ file }) => file))]));
}

const repeat = ({ name }: PlantedBug): string => `node test/planted/run.ts --long --only '${name}'`;

/** One line for each. */
export function line({ bug, caught, said, failed, cases, seconds }: Planted): string {
  const { detector } = bug.caughtBy;
  const after = detector === 'tests' ? '' : String(cases);
  const columns = [bug.name.padEnd(58), describeDetector(bug.caughtBy).padEnd(42), after.padStart(6), `${seconds.toFixed(1)} s`.padStart(7)];
  return `${columns.join(' ')}  ${caught ? said?.slice(0, 70) : `NOT CAUGHT: ${failed ?? repeat(bug)}`}`;
}

export const isUsual = ({ caughtBy }: PlantedBug): boolean => !('long' in caughtBy);

const median = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

async function main(args: readonly string[]): Promise<void> {
  const only = args.filter((_, at) => args[at - 1] === '--only');
  const wanted = BUGS.filter(
    (bug) => (args.includes('--long') || isUsual(bug)) && (only.length === 0 || only.some((part) => bug.name.includes(part))),
  );
  await using tree = await Tree.copy();
  console.log(`${'bug'.padEnd(58)} ${'detector'.padEnd(42)} ${'seeds'.padStart(6)} ${'time'.padStart(7)}  first thing noticed`);
  const planted: Planted[] = [];
  for (const bug of wanted) {
    const result = await plant(tree, bug);
    planted.push(result);
    console.log(line(result));
  }
  const noticed = await control(tree, planted);
  for (const said of noticed) console.log(`NOT QUIET: ${said}`);
  const caught = planted.filter((result) => result.caught);
  const seeds = caught.filter(({ bug }) => bug.caughtBy.detector !== 'tests').map(({ cases }) => cases);
  console.log(
    `\n${caught.length} of ${planted.length} caught; where nothing is planted, ${noticed.length === 0 ? 'nothing' : 'something'} was noticed` +
      (seeds.length === 0 ? '' : `\nseeds until caught: median ${median(seeds)}, most ${Math.max(...seeds)}, of ${seeds.length} bugs`) +
      `\nseconds: median ${median(planted.map(({ seconds: s }) => s)).toFixed(1)}`,
  );
  if (caught.length < planted.length || noticed.length > 0) process.exitCode = 1;
}

if (process.argv[1] === import.meta.filename) await main(process.argv.slice(2));
