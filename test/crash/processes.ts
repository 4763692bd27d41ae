/**
 * Starting workers, hearing what they say, and ending those that a test leaves behind.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Place } from './place.ts';
import type { Task } from './worker-task.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Worker {
  /** The next line it says; fails when it ends before. */
  said(): Promise<Record<string, unknown>>;
  wake(): void;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  ended(): Promise<void>;
}

export class Workers {
  readonly #place: Place;
  readonly #children = new Set<ChildProcess>();

  constructor(place: Place) {
    this.#place = place;
  }

  start(task: Task): Worker {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify([this.#place, task])], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    child.stdin.on('error', () => {});
    const heard: Record<string, unknown>[] = [];
    let tell = (): void => {};
    let over = false;
    createInterface({ input: child.stdout })
      .on('line', (line) => {
        heard.push(JSON.parse(line) as Record<string, unknown>);
        tell();
      })
      .on('close', () => {
        over = true;
        tell();
      });
    return {
      async said() {
        while (heard.length === 0) {
          if (over) throw new Error(`the worker has ended (${child.exitCode ?? child.signalCode}): ${complaints}`);
          await new Promise<void>((resolve) => {
            tell = resolve;
          });
        }
        return heard.shift() ?? {};
      },
      wake: () => void child.stdin.write('go\n'),
      kill: (signal) => void child.kill(signal),
      async ended() {
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      },
    };
  }

  /** Stopped ones too. */
  async endAll(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
    }
    this.#children.clear();
  }
}
