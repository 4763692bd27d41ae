/**
 * Starting workers one after the other, and seeing how they end.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Place } from '../crash/place.ts';
import type { Task } from './worker-task.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Worker {
  kill(): void;
  /** By SIGKILL, or by itself; fails where it could not do what it was told. */
  readonly ended: Promise<'killed' | 'by itself'>;
}

export class Workers {
  readonly #children = new Set<ChildProcess>();

  start(place: Place, task: Task): Worker {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify([place, task])], {
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#children.add(child);
    child.stdin.on('error', () => {});
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    const ended = once(child, 'close').then(([code, signal]) => {
      this.#children.delete(child);
      if (signal === 'SIGKILL') return 'killed' as const;
      if (code !== 0 || complaints !== '') throw new Error(`process ${task.child} ended with ${code ?? signal}: ${complaints}`);
      return 'by itself' as const;
    });
    ended.catch(() => {});
    return { kill: () => void child.kill('SIGKILL'), ended };
  }

  async endAll(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        const exited = once(child, 'exit');
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGKILL');
          await exited;
        }
      }),
    );
  }
}
