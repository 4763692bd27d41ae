/**
 * The parts of `docs/cli.md` that the program knows best: its help, its exit codes, the environment of a command, keys and stores.
 * `node test/cli/docs/write.ts` writes them into the page.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { ROOT } from '../../../scripts/run.ts';
import { EXIT_MEANINGS } from '../../../src/cli/exit-codes.ts';
import { PLACEHOLDERS } from '../../../src/cli/key-template.ts';
import { SECRETS_NOTE, STORE_FORMS } from '../../../src/cli/places/forms.ts';
import { programOf } from '../../../src/cli/program/program.ts';
import { CHILD_ENV } from '../../../src/cli/run/child-env.ts';

export const PAGE = join(ROOT, 'docs/cli.md');
export const MAIN = join(ROOT, 'src/cli/main.ts');

export const COMMANDS: readonly Command[] = programOf('0.0.0', [], () => {}).commands;

const row = (...cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const table = (head: readonly [string, string], rows: readonly (readonly [string, string])[], isCode = true): string =>
  [row(...head), row('---', '---'), ...rows.map(([left, right]) => row(isCode ? `\`${left}\`` : left, right))].join('\n');

/** What a process prints, not what the parser says: some of it is added to that. */
async function helpOf(...command: string[]): Promise<string> {
  const env = { ...process.env, COLUMNS: '80', NO_COLOR: '1', NODE_NO_WARNINGS: '1' };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...command, '--help'], { env });
  return `\`\`\`text\n${stdout.trimEnd()}\n\`\`\``;
}

export async function blocks(): Promise<Readonly<Record<string, string>>> {
  const [program, ...each] = await Promise.all([helpOf(), ...COMMANDS.map((command) => helpOf(command.name()))]);
  const help = COMMANDS.map((command, at) => `### rerunsafe ${command.name()}\n\n${each[at]}`);
  return {
    'exit-codes': table(['code', 'meaning'], EXIT_MEANINGS, false),
    environment: table(['variable', 'what it is'], CHILD_ENV),
    keys: table(['in a key', 'what it becomes'], PLACEHOLDERS),
    stores: `${table(['store', 'what it is'], STORE_FORMS)}\n\n${SECRETS_NOTE}`,
    help: [program, ...help].join('\n\n'),
  };
}

/** The page with these blocks in it. */
export function withBlocks(page: string, made: Readonly<Record<string, string>>): string {
  let written = page;
  for (const [name, block] of Object.entries(made)) {
    const place = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- /${name} -->)`);
    if (!place.test(written)) throw new Error(`the page has no place for ${name}`);
    written = written.replace(place, (_, before, after) => `${before}\n${block}\n${after}`);
  }
  return written;
}

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, withBlocks(readFileSync(PAGE, 'utf8'), await blocks()));
