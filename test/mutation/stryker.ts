/**
 * One run of Stryker on one file, and what became of each mutant.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Round, testsOf } from './tests.ts';

export const ROOT = join(import.meta.dirname, '../..');
const WORK = '.stryker-tmp';

export type Status = 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError' | 'CompileError';

export interface Mutant {
  readonly status: Status;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  /** Of the source, white space made one. */
  readonly original: string;
  readonly replacement: string;
  readonly mutator: string;
  /** It was not a wrong answer that killed it, but that none came: not to be believed of a machine that had no time for it. */
  readonly hung: boolean;
}

interface Reported {
  readonly status: Status;
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly statusReason?: string;
  readonly location: {
    readonly start: { readonly line: number; readonly column: number };
    readonly end: { readonly line: number; readonly column: number };
  };
}

export interface Asked {
  readonly round: Round;
  readonly concurrency?: number;
}

const slug = (file: string): string => file.replace(/^src\//, '').replaceAll('/', '.');

export async function mutantsOf(file: string, { round, concurrency = 1 }: Asked): Promise<Mutant[]> {
  const name = slug(file);
  const report = join(WORK, `${name}.json`);
  const config = join(WORK, `${name}.config.json`);
  await mkdir(join(ROOT, WORK), { recursive: true });
  await rm(join(ROOT, report), { force: true });
  const common = JSON.parse(await readFile(join(ROOT, 'stryker.config.json'), 'utf8')) as { vitest: object };
  const settings = {
    ...common,
    mutate: [file],
    vitest: { ...common.vitest, pool: testsOf(file).pool },
    // What a round has killed stays dead in the next one, which has its tests and more; and for ever, as long as neither it nor its tests change.
    incrementalFile: join(WORK, `${name}.incremental.json`),
    concurrency,
    jsonReporter: { fileName: report },
  };
  await writeFile(join(ROOT, config), JSON.stringify(settings, undefined, 2));
  await stryker(config, join(ROOT, WORK, `${name}.log`), { MUTATED_FILE: file, MUTATION_ROUND: round });
  return read(join(ROOT, report));
}

function stryker(config: string, log: string, environment: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const program = join(ROOT, 'node_modules/@stryker-mutator/core/bin/stryker.js');
    const child = spawn('nice', ['-n', '19', process.execPath, program, 'run', config], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { SEEDS: '100', ...process.env, ...environment },
    });
    let output = '';
    // To look at while it goes on: how many are done, how many live.
    const file = createWriteStream(log);
    for (const stream of [child.stdout, child.stderr]) {
      stream.pipe(file);
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`Stryker ended with ${code}:\n${output.slice(-3_000)}`))));
  });
}

async function read(path: string): Promise<Mutant[]> {
  const { files } = JSON.parse(await readFile(path, 'utf8')) as { files: Record<string, { source: string; mutants: Reported[] }> };
  return Object.values(files).flatMap(({ source, mutants }) => {
    const lines = source.split('\n');
    return mutants.map(({ status, mutatorName, replacement = '', statusReason = '', location: { start, end } }) => ({
      status,
      line: start.line,
      column: start.column,
      endLine: end.line,
      endColumn: end.column,
      original: oneLine(cut(lines, start, end)),
      replacement: oneLine(replacement),
      mutator: mutatorName,
      hung: status === 'Timeout' || /timed out in/.test(statusReason),
    }));
  });
}

function cut(lines: readonly string[], start: Reported['location']['start'], end: Reported['location']['end']): string {
  const inside = lines.slice(start.line - 1, end.line);
  inside[inside.length - 1] = (inside.at(-1) ?? '').slice(0, end.column - 1);
  inside[0] = (inside[0] ?? '').slice(start.column - 1);
  return inside.join('\n');
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
