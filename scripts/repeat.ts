/**
 * Runs the tests again and again, and names those that do not always say the same: `npm run repeat -- --times 50 [what vitest takes]`.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './run.ts';

/** What is read of vitest's report. */
interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

const { values, positionals } = parseArgs({ options: { times: { type: 'string', default: '50' } }, allowPositionals: true });
const times = Number(values.times);
if (!Number.isSafeInteger(times) || times < 1) throw new RangeError(`--times must be a whole number from 1, not ${values.times}`);

const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-repeat-'));
const failures = new Map<string, number>();
try {
  for (let n = 1; n <= times; n++) {
    const outputFile = join(folder, `${n}.json`);
    const startedAt = Date.now();
    const code = await vitest(['run', '--reporter=json', `--outputFile=${outputFile}`, ...positionals]);
    const report = JSON.parse(await readFile(outputFile, 'utf8')) as Report;
    const failed = failedIn(report);
    // A run that fails with no test to blame is a failure all the same.
    if (failed.length === 0 && code !== 0) failed.push(`(vitest ended with ${code})`);
    for (const name of failed) failures.set(name, (failures.get(name) ?? 0) + 1);
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    process.stdout.write(`run ${n} of ${times}: ${report.numPassedTests} passed, ${failed.length} failed, ${seconds} s\n`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
for (const [name, count] of failures) process.stdout.write(`failed in ${count} of ${times} runs: ${name}\n`);
process.stdout.write(`${failures.size} flaky test(s) in ${times} runs\n`);
if (failures.size > 0) process.exitCode = 1;

function failedIn({ testResults }: Report): string[] {
  return testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed').map((test) => `${name.slice(ROOT.length)}: ${test.fullName}`);
    return failed.length === 0 && status === 'failed' ? [`${name.slice(ROOT.length)} (outside of a test)`] : failed;
  });
}

function vitest(args: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
}
