/**
 * Processes that were started before they are needed, and how each of them ends.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Place } from './place.ts';
import type { Said, Task } from './worker-task.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Worker {
  perform(task: Task): void;
  /** What it says next; undefined where it has ended. */
  said(): Promise<Said | undefined>;
  /** It was struck by its own hand. */
  stopped(): Promise<void>;
  goOn(): void;
  kill(): void;
  /** Fails where it ended neither by SIGKILL nor as it should. */
  readonly ended: Promise<'killed' | 'by itself'>;
}

export class Workers {
  readonly #place: Place;
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #children = new Set<ChildProcess>();
  readonly #ahead: Promise<Worker>[] = [];

  /** `folder`: for what it compiles, which makes all but the first start faster. `environment`: besides that of this process. */
  constructor(place: Place, folder: string, environment: Readonly<Record<string, string>> = {}) {
    this.#place = place;
    this.#folder = folder;
    this.#environment = environment;
  }

  /** `more`: how many will be asked for after this one. */
  async take(more = 0): Promise<Worker> {
    const worker = this.#ahead.shift() ?? this.#start();
    for (let ready = this.#ahead.length; ready < Math.min(more, 1); ready++) {
      const next = this.#start();
      next.catch(() => {});
      this.#ahead.push(next);
    }
    return worker;
  }

  async #start(): Promise<Worker> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify(this.#place)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled'), ...this.#environment },
    });
    this.#children.add(child);
    child.stdin.on('error', () => {});
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ended = once(child, 'close').then(([code, signal]) => {
      this.#children.delete(child);
      if (signal === 'SIGKILL') return 'killed' as const;
      if (code !== 0 || complaints !== '') throw new Error(`a worker ended with ${code ?? signal}: ${complaints}`);
      return 'by itself' as const;
    });
    ended.catch(() => {});
    const said = async (): Promise<Said | undefined> => {
      const { value, done } = await lines.next();
      return done === true ? undefined : (JSON.parse(value) as Said);
    };
    if ((await said()) === undefined) await ended;
    return {
      ended,
      said,
      perform: (task) => void child.stdin.write(`${JSON.stringify(task)}\n`),
      goOn: () => void child.kill('SIGCONT'),
      kill: () => void child.kill('SIGKILL'),
      async stopped() {
        // Its state is the first field after its name, which is in brackets.
        while ((await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.[0] !== 'T') await pause(5);
      },
    };
  }

  async endAll(): Promise<void> {
    const children = [...this.#children];
    await Promise.all(
      children.map(async (child) => {
        const closed = once(child, 'close');
        child.kill('SIGKILL');
        await closed;
      }),
    );
  }
}
