/**
 * Several processes of each version on one place, started again whenever one of them has killed itself.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Calls } from './calls.ts';
import type { Version } from './engines.ts';
import type { Line } from './judge.ts';
import type { Place } from './place.ts';
import type { Task } from './worker.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));
const MOST_STARTS = 60;

export interface Ran {
  readonly lines: readonly Line[];
  readonly crashes: number;
}

export async function runProcesses(place: Place, versions: readonly Version[], calls: Omit<Calls, 'version'>): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-versions-'));
  const lines = join(folder, 'lines');
  try {
    const crashes = await Promise.all(versions.map((version) => untilItEnds({ place, calls: { ...calls, version }, lines, versions })));
    const told = (await readFile(lines, 'utf8')).trim().split('\n');
    return { lines: told.map((line) => JSON.parse(line) as Line), crashes: crashes.reduce((sum, n) => sum + n, 0) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function untilItEnds(task: Task): Promise<number> {
  const endMs = performance.now() + task.calls.withinMs;
  for (let crashes = 0; crashes < MOST_STARTS && performance.now() < endMs; crashes++) {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify(task)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: task.calls.withinMs + 5_000,
      killSignal: 'SIGTERM',
    });
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (code === 0) return crashes;
    if (signal !== 'SIGKILL') throw new Error(`a process of ${task.calls.version} ended with ${code ?? signal}: ${complaints}`);
  }
  throw new Error(`a process of ${task.calls.version} never came to its end`);
}
