/**
 * The parts of `--help` that explain.
 *
 * @module
 */
import { Help } from 'commander';
import { EXIT_MEANINGS } from '../exit-codes.ts';
import { PLACEHOLDERS } from '../key-template.ts';
import { CHILD_ENV } from '../run/child-env.ts';

type Rows = readonly (readonly [string, string])[];

/** As commander prints its own, so that it is broken where its own is. */
function table(rows: Rows): string {
  const help = new Help();
  help.helpWidth = process.stdout.columns ?? 80;
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => help.formatItem(left, width, right, help)).join('\n');
}

export const keyHelp = (): string => `
Key:
${table(PLACEHOLDERS)}
  The command and its arguments must be the same under the same key
  (--no-fp-args: they may change).`;

/** Codes that can come in mode lock alone, where nothing is remembered. */
const NOT_OF_LOCKS: ReadonlySet<string> = new Set(['65', '73', '76']);

export const guardHelp = (isLock = false): string => `
Exit codes:
${table(EXIT_MEANINGS.filter(([code]) => !(isLock && NOT_OF_LOCKS.has(code))))}

The command finds in its environment:
${table(CHILD_ENV)}`;

export const PROGRAM_HELP = `
Examples:
  $ rerunsafe run --key 'migrate {git.sha}' -- npm run migrate   once for each commit, whoever starts it
  $ rerunsafe run --key "cert {date}" --on-unknown retry -- ./renew.sh
  $ rerunsafe run --mode slot --key nightly --slot '0 2 * * *' -- ./report.sh
  $ rerunsafe lock backup --wait 10m -- ./backup.sh              one at a time
  $ rerunsafe status 'migrate {git.sha}'                         done? running? blocked?
  $ rerunsafe describe --key 'migrate {git.sha}' -- npm run migrate    what it does when, for a runbook

Where it is remembered: --store, or RERUNSAFE_STORE; \`rerunsafe stores\` lists what can be used.
Completions for bash: source <(rerunsafe complete bash); zsh and fish alike.
Explained in docs/cli.md of the package.`;
