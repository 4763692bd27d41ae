/**
 * Searches, and prints what came of it: `node test/exhaustive/run.ts`. `--long`: all scopes, which takes long; `--scope name`: that one, or those whose name begins so;
 * `--controls`: what is wrong on purpose; `--path 0,1,0`, with a scope: one path, event by event.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { CONTROLS } from './controls.ts';
import type { Scope } from './scope.ts';
import { IN_CI, SCOPES } from './scopes.ts';
import { type Found, retrace, search } from './search.ts';

/** One line for each. */
export function line({ scope, runs, states, paths, outcomes, seconds, complete, violation }: Found): string {
  const columns = [scope.padEnd(28), runs, states, paths < 1e9 ? paths : paths.toExponential(1), outcomes.size];
  const verdict = violation !== undefined ? 'VIOLATION' : complete ? 'none, all gone through' : 'none, NOT COMPLETE';
  return `${columns.map((column) => String(column).padStart(11)).join(' ')} ${seconds.toFixed(1).padStart(7)} s ${String(Math.round(runs / seconds)).padStart(6)}/s  ${verdict}`;
}

/** What was broken, how it came to that, and the one command that shows it again. */
export async function told(scope: Scope, { violation }: Found): Promise<string> {
  if (violation === undefined) return '';
  const { labels } = await retrace(scope, violation.path);
  return [...violation.wrong, ...labels, `again: node test/exhaustive/run.ts --scope '${scope.name}' --path ${violation.path}`].join('\n');
}

const HEAD = `${'scope'.padEnd(28)} ${['runs', 'states', 'paths', 'outcomes'].map((name) => name.padStart(11)).join(' ')} ${'CPU'.padStart(9)} ${'runs'.padStart(8)}  violations`;

const EVERY: readonly Scope[] = [...SCOPES, ...CONTROLS.map(({ scope }) => scope)];

function named(name: string): readonly Scope[] {
  const exactly = EVERY.filter((scope) => scope.name === name);
  return exactly.length > 0 ? exactly : EVERY.filter((scope) => scope.name.startsWith(name));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      scope: { type: 'string' },
      path: { type: 'string' },
      long: { type: 'boolean', default: false },
      controls: { type: 'boolean', default: false },
      seconds: { type: 'string' },
    },
  });
  const { scope: name, path, long, controls } = values;
  if (path !== undefined) {
    const scope = EVERY.find((one) => one.name === name);
    if (scope === undefined) throw new Error(`there is no scope ${name}`);
    const { labels, wrong } = await retrace(scope, path.split(',').map(Number));
    console.log([...labels, ...wrong].join('\n'));
    return;
  }
  const started = performance.now();
  const sum = { runs: 0, states: 0, paths: 0, seconds: 0, violations: 0 };
  console.log(HEAD);
  const chosen = controls ? CONTROLS.map(({ scope }) => scope) : name !== undefined ? named(name) : long ? SCOPES : IN_CI;
  for (const scope of chosen) {
    const found = await search(scope, values.seconds === undefined ? {} : { mostSeconds: Number(values.seconds) });
    console.log(line(found));
    sum.runs += found.runs;
    sum.states += found.states;
    sum.paths += found.paths;
    sum.seconds += found.seconds;
    if (found.violation !== undefined) {
      sum.violations += 1;
      console.log(await told(scope, found));
      if (!controls) process.exitCode = 1;
    } else if (controls || !found.complete) process.exitCode = 1;
  }
  console.log(
    `${chosen.length} scopes, ${sum.runs} runs, ${sum.states} states, ${sum.paths.toExponential(1)} interleavings, ${sum.seconds.toFixed(0)} CPU seconds (${((performance.now() - started) / 1_000).toFixed(0)} s), ${sum.violations} violations`,
  );
}

if (process.argv[1] === import.meta.filename) await main();
