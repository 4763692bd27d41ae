/**
 * `rerunsafe` and other commands as cron, CI and people start them: with little in the environment, and nothing of them left behind.
 *
 * @module
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sendSignal } from '../send-signal.ts';
import type { Stage } from './stage.ts';

export interface Given {
  readonly env?: Readonly<Record<string, string>>;
  /** Where we are root: somebody else. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface Ended {
  /** Of one that a signal ended, its name. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Command {
  readonly ended: Promise<Ended>;
  /** Of the process itself, not of what it has started. */
  kill(): void;
}

export const NODE: readonly string[] = [process.execPath, '--disable-warning=ExperimentalWarning'];
export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** `rerunsafe`, from its source. */
export const rerunsafe = (stage: Stage, args: readonly string[], given: Given = {}): Command => start(stage, [...NODE, MAIN, ...args], given);

export const exitOf = async ({ ended }: Pick<Command, 'ended'>): Promise<Ended['code']> => (await ended).code;

export function start(stage: Stage, [program = '', ...args]: readonly string[], { env = {}, user }: Given = {}): Command {
  const child = spawn(program, args, {
    // A group of its own: who ends it ends its children too, as far as they stayed in it.
    detached: true,
    cwd: user === undefined ? stage.folder : '/',
    env: { PATH: process.env.PATH, HOME: stage.folder, NODE_COMPILE_CACHE: join(stage.folder, '../compiled'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  const clean = (): void => {
    try {
      sendSignal(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // Nobody is left.
    }
  };
  stage.defer(clean);
  process.once('exit', clean);
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (chunk: Buffer) => {
      said[stream] += chunk.toString();
    });
  }
  const closed = once(child, 'close');
  const ended = once(child, 'exit').then(async ([code, signal]): Promise<Ended> => {
    // What a killed one has left behind may hold its output open.
    if (signal === null) await closed;
    return { code: (code ?? signal) as Ended['code'], ...said };
  });
  ended.catch(() => {});
  return { ended, kill: () => void child.kill('SIGKILL') };
}

/** Waits until a file is there, which a command makes when it has come so far. Where the command ends before, that is the news. */
export async function at(path: string, command?: Command): Promise<void> {
  let ended: Ended | undefined;
  void command?.ended.then((end) => {
    ended = end;
  });
  await eventually(() => {
    if (existsSync(path)) return true;
    if (ended !== undefined) throw new Error(`a command has ended with ${ended.code} before it made ${path}: ${ended.stderr}`);
    return false;
  }, path);
}

export async function eventually(holds: () => boolean, what: string, limitMs = 60_000): Promise<void> {
  for (const endsAtMs = performance.now() + limitMs; !holds(); await pause(20)) {
    if (performance.now() > endsAtMs) throw new Error(`it did not come to be: ${what}`);
  }
}

/** Of util-linux. */
export const FLOCK = 'flock';

/** Whether this machine has it. Under `CI=true` its lack is a failure, elsewhere a line says so. */
export function flockAvailable(): boolean {
  if (spawnSync(FLOCK, ['--version']).status === 0) return true;
  const missing = 'there is no flock. Install it, for example: apt-get install util-linux';
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`flock is left out: ${missing}.`);
  return false;
}
