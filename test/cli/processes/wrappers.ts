/**
 * `rerunsafe` as processes: started, heard, and none of them nor of their commands left behind.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sendSignal } from '../../../scripts/send-signal.ts';
import type { Report } from '../../../src/cli/run/report.ts';
import { processesWith, until } from '../child/processes.ts';
import { GO, REACHED, STAGED, type Staged } from './moments.ts';

/** What is built: it starts in a third of the time of the source, and is what users have. */
const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
/** The same in the files that it is made from, some of which are changed to be stopped at a moment. */
const MAIN_IN_PARTS = fileURLToPath(new URL('../../../dist/parts/cli/main.js', import.meta.url));
/** Not stripped by each process anew: that takes a fifth of its time. */
const MOMENTS = stripTypeScriptTypes(readFileSync(new URL('moments.ts', import.meta.url), 'utf8'));
const MARK = 'RERUNSAFE_TEST_MARK';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What `run --json` says of itself; undefined where it came to no word. */
  readonly report: Report | undefined;
}

export interface Wrapper {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** What it has said so far, on stderr. */
  said(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface Started {
  readonly env?: Readonly<Record<string, string>>;
  readonly staged?: Staged;
}

export class Wrappers {
  readonly folder = mkdtempSync(join(tmpdir(), 'rerunsafe-cli-'));
  readonly #mark = randomUUID();
  readonly #env: Readonly<Record<string, string>>;
  readonly #running = new Set<ChildProcess>();

  /** `env`: of the store. */
  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = env;
    writeFileSync(this.path('moments.mjs'), MOMENTS);
  }

  start(args: readonly string[], { env, staged }: Started = {}): Wrapper {
    const given = staged === undefined ? {} : { [STAGED]: JSON.stringify(staged) };
    const before = staged === undefined ? [] : ['--import', this.path('moments.mjs')];
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', ...before, staged === undefined ? MAIN : MAIN_IN_PARTS, ...args],
      {
        cwd: this.folder,
        env: { PATH: process.env.PATH, HOME: this.folder, XDG_STATE_HOME: this.folder, [MARK]: this.#mark, ...this.#env, ...env, ...given },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#running.add(child);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    // Not `close`: what a killed one has left behind holds its output open.
    const closed = once(child, 'close');
    const ended = once(child, 'exit').then(async ([code, signal]): Promise<Ended> => {
      this.#running.delete(child);
      if (signal === null) await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 500))]);
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr, report: reportIn(stderr) };
    });
    return { process: child, pid: child.pid ?? 0, ended, said: () => stderr, kill: (signal) => void child.kill(signal) };
  }

  /** A command that is no guard, to its end. */
  ask(...args: readonly string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  /** A file of its own for each name. */
  path(name: string): string {
    return join(this.folder, name);
  }

  touch(path: string): void {
    writeFileSync(path, '');
  }

  /** Commands, what they started, and wrappers. */
  alive(): number[] {
    return processesWith('environ', `${MARK}=${this.#mark}`).map(({ pid }) => pid);
  }

  clean(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    for (const pid of this.alive()) tryKill(pid);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function tryKill(pid: number): void {
  try {
    sendSignal(pid, 'SIGKILL');
  } catch {
    // Gone in between.
  }
}

/** Once so many have reached the moment that is staged in this folder: the numbers that they left. */
export function reached(folder: string, many = 1): Promise<number[]> {
  const file = join(folder, REACHED);
  const left = (): number[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number) : []);
  return until(() => left().length >= many && left(), `${many} at the moment staged in ${folder}`, 30_000);
}

/** All of them at the same moment, `inMs` from now. Complete when it is there: they look all the time. */
export function letGo(folder: string, inMs = 0): void {
  writeFileSync(join(folder, 'going'), String(Date.now() + inMs));
  renameSync(join(folder, 'going'), join(folder, GO));
}

function reportIn(stderr: string): Report | undefined {
  const line = stderr
    .split('\n')
    .filter((one) => one.startsWith('{'))
    .at(-1);
  return line === undefined ? undefined : (JSON.parse(line) as Report);
}
