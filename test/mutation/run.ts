/**
 * Changes one thing in the source, runs the tests that reach it, and asks whether any of them noticed; for every such change there is.
 *
 * `node test/mutation/run.ts src/core/decide.ts` for some files, none named: all. `CONCURRENCY=2` for two at once, `SEEDS=100` of the simulation, `UP_TO=own` or `UP_TO=quick` to leave out the later rounds.
 * The score of each file is kept in scores.json; a mutant that lives on has to be explained in survivors.md, word for word as printed.
 *
 * @module
 */
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Mutant, mutantsOf, ROOT } from './stryker.ts';
import { MUTATED, ROUNDS, type Round, testsOf } from './tests.ts';

export interface Score {
  readonly mutants: number;
  readonly killed: number;
  /** Of the killed: no answer came. */
  readonly hung: number;
  readonly survived: number;
  readonly explained: number;
  readonly percent: number;
}

const SCORES = join(ROOT, 'test/mutation/scores.json');
const SURVIVORS = join(ROOT, 'test/mutation/survivors.md');
const concurrency = Number(process.env.CONCURRENCY ?? 1);

const alive = ({ status }: Mutant): boolean => status === 'Survived' || status === 'NoCoverage';
const told = ({ original, replacement }: Mutant): string => `\`${shown(original)}\` → \`${shown(replacement)}\``;

const LONGEST = 110;
/** Back quotes would end the code that it is shown as. */
const shown = (text: string): string => {
  const quoted = text.replaceAll('`', "'");
  return quoted.length > LONGEST ? `${quoted.slice(0, LONGEST)}…` : quoted;
};

/** What survivors.md says of one file. */
async function explanations(file: string): Promise<string> {
  const [, text = ''] = (await readFile(SURVIVORS, 'utf8')).split(`\n## ${file}\n`);
  return text.split('\n## ')[0] as string;
}

async function measured(file: string): Promise<Score> {
  const last = ROUNDS.indexOf(process.env.UP_TO as Round);
  const rounds = ROUNDS.filter((round, n) => testsOf(file)[round].length > 0 && (last === -1 || n <= last));
  let mutants: Mutant[] = [];
  for (const round of rounds) {
    mutants = await mutantsOf(file, { round, concurrency });
    if (!mutants.some(alive)) break;
  }
  const said = await explanations(file);
  const survivors = mutants.filter(alive);
  const unexplained = survivors.filter((mutant) => !said.includes(told(mutant)));
  for (const mutant of unexplained) console.log(`  ${file}:${mutant.line}:${mutant.column} ${mutant.status} ${told(mutant)}`);
  return {
    mutants: mutants.length,
    killed: mutants.length - survivors.length,
    hung: mutants.filter((mutant) => mutant.hung && !alive(mutant)).length,
    survived: survivors.length,
    explained: survivors.length - unexplained.length,
    percent: mutants.length === 0 ? 100 : Math.round(((mutants.length - survivors.length) / mutants.length) * 10_000) / 100,
  };
}

const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync([...MUTATED], { cwd: ROOT }).sort();
for (const file of files) {
  const began = performance.now();
  const score = await measured(file);
  const scores = JSON.parse(await readFile(SCORES, 'utf8').catch(() => '{}')) as Record<string, Score>;
  const sorted = Object.fromEntries(Object.entries({ ...scores, [file]: score }).sort(([a], [b]) => a.localeCompare(b)));
  await writeFile(SCORES, `${JSON.stringify(sorted, undefined, 2)}\n`);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `${file}: ${score.percent} % (${score.killed} of ${score.mutants}; ${score.survived} survived, ${score.explained} of them explained; ${seconds} s)`,
  );
}
