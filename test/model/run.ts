/**
 * Runs Spin on the models, and prints what came of it: `node test/model/run.ts`, with `--long` also what takes minutes.
 *
 * @module
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PLANTED, PROMISES, type Property, REACHABLE } from './properties.ts';

export interface Checked {
  readonly property: Property;
  readonly asExpected: boolean;
  /** `holds`, or Spin's complaint. */
  readonly found: string;
  /** Stored. */
  readonly states: number;
  readonly seconds: number;
}

const run = promisify(execFile);
const LIMIT_S = 120;
const LONG_LIMIT_S = 1_800;

/** Whether there are `spin` and `gcc`. Under `CI=true` their lack is a failure, elsewhere it is said in a line. */
export function spinAvailable(): boolean {
  const lacking = [['spin', '-V'] as const, ['gcc', '--version'] as const].filter(([name, flag]) => spawnSync(name, [flag]).status !== 0);
  if (lacking.length === 0) return true;
  const names = lacking.map(([name]) => name).join(' and no ');
  const missing = `there is no ${names}. Install them, for example: apt-get install --no-install-recommends spin gcc libc6-dev`;
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`The models are left out: ${missing}.`);
  return false;
}

export async function checked(property: Property): Promise<Checked> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-model-'));
  const began = performance.now();
  try {
    const report = await searched(folder, property);
    return { property, ...read(report, property), seconds: (performance.now() - began) / 1_000 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function searched(cwd: string, { model, defines, expected, ends, long }: Property): Promise<string> {
  const source = join(import.meta.dirname, `${model}.pml`);
  await run('spin', [...latest(defines).map((define) => `-D${define}`), '-a', source], { cwd });
  // What is found at once is not worth the time of a better compiler's pass; of minutes, memory is what runs out.
  const speed = long === true ? ['-O2', '-DCOLLAPSE'] : [expected === 'holds' ? '-Og' : '-O0'];
  const limits = ['-DMEMLIM=12000', ends === true ? '-DNP' : '-DSAFETY'];
  await run('gcc', [...speed, ...limits, '-w', '-o', 'pan', 'pan.c'], { cwd });
  const timeout = (long === true ? LONG_LIMIT_S : LIMIT_S) * 1_000;
  const { stdout } = await run(join(cwd, 'pan'), ['-m100000', ...(ends === true ? ['-l'] : [])], { cwd, timeout, maxBuffer: 1 << 24 });
  return stdout;
}

/** Of one name the last word counts. */
function latest(defines: readonly string[]): string[] {
  return [...new Map(defines.map((define) => [define.split('=')[0], define])).values()];
}

function read(report: string, { expected }: Property): Omit<Checked, 'property' | 'seconds'> {
  const errors = /errors: (\d+)/.exec(report)?.[1];
  const states = Number(/(\d+) states, stored/.exec(report)?.[1]);
  const complaint = /^pan:1: (.*)$/m.exec(report)?.[1] ?? (errors === undefined ? 'no result' : undefined);
  // A search that was cut short has shown nothing.
  const cut = /Search not completed|max search depth too small|out of memory|reached -DMEMLIM/i.exec(report)?.[0];
  const holds = errors === '0' && complaint === undefined && cut === undefined;
  const found = holds ? 'holds' : (complaint ?? cut ?? `errors: ${errors}`);
  return { found, states, asExpected: expected === 'holds' ? holds : errors === '1' && expected.test(found) };
}

/** One line for each. */
export function line({ property, asExpected, found, states, seconds }: Checked): string {
  const { model, shows, expected } = property;
  const columns = [model.padEnd(7), shows.padEnd(76), (expected === 'holds' ? 'holds' : 'error').padEnd(8), String(states).padStart(10)];
  return `${columns.join(' ')} ${seconds.toFixed(1).padStart(6)} s  ${asExpected ? 'as expected' : `NOT AS EXPECTED: ${found}`}`;
}

async function main(): Promise<void> {
  if (!spinAvailable()) return;
  const withLong = process.argv.includes('--long');
  console.log(`${'model'.padEnd(7)} ${'property'.padEnd(76)} ${'expected'.padEnd(8)} ${'states'.padStart(10)} ${'time'.padStart(8)}`);
  for (const property of [...PROMISES, ...REACHABLE, ...PLANTED]) {
    if (property.long === true && !withLong) continue;
    const result = await checked(property);
    console.log(line(result));
    if (!result.asExpected) process.exitCode = 1;
  }
}

if (process.argv[1] === import.meta.filename) await main();
