/**
 * Runs a detector in the copy of the tree, as a process of its own with a time limit.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { sendSignal } from '../../scripts/send-signal.ts';
import type { CaughtBy } from './bug.ts';
import type { Simulated } from './simulator.ts';

export interface Found {
  /** The first thing that was noticed; undefined: nothing was. */
  readonly said: string | undefined;
  /** Seeds of the simulator, or tests that ran. */
  readonly cases: number;
  readonly seconds: number;
  /** The detector itself did not work: neither caught nor let through. */
  readonly failed?: string;
}

/** The simulator's slowest seeds, with much to spare. */
const SEEDS_PER_S = 100;
const START_S = 20;

export async function detect(folder: string, by: CaughtBy): Promise<Found> {
  const startedAt = performance.now();
  const limitS = by.detector === 'tests' ? START_S + by.budget : START_S + by.budget / SEEDS_PER_S;
  const args = by.detector === 'tests' ? testArgs([by.file], by.title) : ['test/planted/simulator.ts', by.detector, String(by.budget)];
  const { output, errors } = await run(folder, args, limitS);
  const seconds = (performance.now() - startedAt) / 1_000;
  try {
    const found = by.detector === 'tests' ? readTests(output) : readSimulated(output);
    return { ...found, seconds };
  } catch {
    return { said: undefined, cases: 0, seconds, failed: firstError(errors) ?? `nothing within ${limitS} s` };
  }
}

/** The unpatched tree under many tests at once: the start of the runner is what takes most of the time. */
export const detectAll = (folder: string, files: readonly string[], title: string | undefined, limitS: number): Promise<Found> =>
  run(folder, testArgs(files, title), limitS).then(({ output, errors }) => {
    try {
      return { ...readTests(output), seconds: 0 };
    } catch {
      return { said: undefined, cases: 0, seconds: 0, failed: firstError(errors) ?? `nothing within ${limitS} s` };
    }
  });

const firstError = (errors: string): string | undefined => /^.*Error.*$/m.exec(errors)?.[0];

const VITEST = 'node_modules/vitest/vitest.mjs';
const testArgs = (files: readonly string[], title: string | undefined): string[] => [
  ...[VITEST, 'run', '--reporter=json', ...files],
  ...(title === undefined ? [] : ['-t', title]),
];

function readSimulated(output: string): Omit<Found, 'seconds'> {
  const { seeds, wrong } = JSON.parse(output) as Simulated;
  return { said: wrong[0], cases: seeds };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

function readTests(output: string): Omit<Found, 'seconds'> {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(output.slice(output.indexOf('{"num'))) as Report;
  const said = testResults.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === 'failed')?.title;
  const cases = numPassedTests + numFailedTests;
  // A file that cannot even be loaded has noticed nothing.
  const broken = testResults.find(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  if (cases === 0 || (said === undefined && broken !== undefined)) return { said: undefined, cases, failed: broken?.message ?? 'no test ran' };
  return { said, cases };
}

interface Ended {
  readonly output: string;
  readonly errors: string;
}

function run(folder: string, args: readonly string[], limitS: number): Promise<Ended> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that what it started ends with it.
    const env = { ...process.env, NODE_OPTIONS: '', RERUNSAFE_LONG: '', VITEST: '', FORCE_COLOR: '0' };
    const child = spawn(process.execPath, args, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
    const limit = setTimeout(() => child.pid !== undefined && sendSignal(-child.pid, 'SIGKILL'), limitS * 1_000);
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.on('error', reject);
    child.on('close', () => {
      clearTimeout(limit);
      resolve({ output, errors });
    });
  });
}

/** For people: what to run, there, to see it again. */
export const describeDetector = (by: CaughtBy): string =>
  by.detector === 'tests' ? by.file.replace(/^test\//, '').replace(/\.test\.ts$/, '') : `simulator, ${by.detector}`;
