/**
 * How long the guard takes from its start to the start of its command: `npm run bench:start-up`. Everything in one run, interleaved; medians and quartiles.
 *
 * The command tells when it began by `date`, so each figure holds a shell and `date` as well; the first row is what these cost alone.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '31' }, json: { type: 'boolean', default: false } } });
const ROUNDS = Number(values.rounds);
const place = mkdtempSync(join(tmpdir(), 'rerunsafe-bench-'));
const mark = join(place, 'began');
const bare = join(place, 'bare.mjs');
const cli = join(import.meta.dirname, '../dist/cli/main.js');
const command = ['sh', '-c', `date +%s%N > ${mark}`];
const env = { ...process.env, XDG_STATE_HOME: place };

writeFileSync(bare, "import { spawnSync } from 'node:child_process';\nspawnSync(process.argv[2], process.argv.slice(3), { stdio: 'inherit' });\n");

/** Epoch ms, with parts. */
const nowMs = (): number => performance.timeOrigin + performance.now();

/** From our spawn until the command began, ms; without a command: until it ended. */
function timed(program: string, args: readonly string[], begins: boolean): number {
  const since = nowMs();
  const { status, stderr } = spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const endedMs = nowMs();
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${status}\n${stderr}`);
  return (begins ? Number(BigInt(readFileSync(mark, 'utf8').trim()) / 1_000n) / 1_000 : endedMs) - since;
}

let key = 0;
const run = (name: string): string[] => [cli, 'run', '--quiet', '--key', name, '--', ...command];
const CASES: Readonly<Record<string, () => number>> = {
  'the command alone': () => timed('sh', command.slice(1), true),
  'Node, which starts it': () => timed(process.execPath, [bare, ...command], true),
  'rerunsafe run, first run': () => timed(process.execPath, run(`key ${++key}`), true),
  'rerunsafe run, already done (until its end)': () => timed(process.execPath, run('done'), false),
};

const quantile = (sorted: readonly number[], q: number): number => sorted[Math.round(q * (sorted.length - 1))] as number;

try {
  const took: Record<string, number[]> = {};
  // The first round fills caches: the file system's, the compiler's, the database.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, measure] of Object.entries(CASES)) {
      const ms = measure();
      if (round > 0) took[name] = [...(took[name] ?? []), ms];
    }
  }
  const rows = Object.entries(took).map(([name, all]) => {
    const sorted = all.toSorted((a, b) => a - b);
    return { name, medianMs: quantile(sorted, 0.5), q1Ms: quantile(sorted, 0.25), q3Ms: quantile(sorted, 0.75) };
  });
  const node = rows[1]?.medianMs ?? 0;
  if (values.json) console.log(JSON.stringify({ rounds: ROUNDS, node: process.version, rows }));
  else {
    console.log(`${ROUNDS} rounds, Node ${process.version}, SQLite in the user's state folder\n`);
    console.log('| from the start of | median ms | quartiles ms | share of Node itself |\n|---|---|---|---|');
    for (const { name, medianMs, q1Ms, q3Ms } of rows) {
      const share = name.startsWith('rerunsafe') ? `${Math.round((node / medianMs) * 100)} %` : '';
      console.log(`| ${name} | ${medianMs.toFixed(1)} | ${q1Ms.toFixed(1)}–${q3Ms.toFixed(1)} | ${share} |`);
    }
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
