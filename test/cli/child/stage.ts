/**
 * Wrappers as processes, and everything that came of them.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sendSignal } from '../../../scripts/send-signal.ts';
import { type Process, processesWith, until } from './processes.ts';
import type { Line, Task } from './wrapper.ts';

const SCRIPT = fileURLToPath(new URL('wrapper.ts', import.meta.url));
const MARK = 'RERUNSAFE_TEST_MARK';

export interface Wrapped {
  readonly process: ChildProcess;
  /** Its own. */
  readonly folder: string;
  stdout(): string;
  bytes(): Buffer;
  stderr(): string;
  lines(): Line[];
  said(): string[];
  /** The wrapper's own number: another one than that of `process` where something stands in front. */
  pid(): Promise<number>;
  /** What it wrote down at its end, when it has ended. */
  ended(): Promise<Line & { end: Line }>;
  /** Command and what the command has started. */
  alive(): Process[];
  watchers(): Process[];
  /** Waits for this on stdout. */
  hears(text: string): Promise<void>;
}

export interface Around {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Makes of the command what is run: `script`, a pipe. */
  readonly through?: (command: string[]) => string[];
  /** The reader of its output is the test. */
  readonly reads?: boolean;
}

let counted = 0;

export class Stage {
  readonly #marks: string[] = [];
  readonly #folders: string[] = [];
  readonly #started: ChildProcess[] = [];

  wrap(task: Task, { env = process.env, cwd, through = (command) => command, reads = true }: Around = {}): Wrapped {
    const folder = mkdtempSync(join(tmpdir(), 'rerunsafe-child-'));
    const report = join(folder, 'report');
    writeFileSync(report, '');
    const mark = randomUUID();
    this.#marks.push(mark);
    this.#folders.push(folder);
    // The watcher has no environment to know it by, but its argument: tenths of a second that nobody else has.
    const tenths = task.killAfterMs === undefined ? (process.pid % 30_000) * 1000 + ++counted : Math.ceil(task.killAfterMs / 100);
    const full: Task = { leaseMs: 3 * tenths * 100 + 1000, killAfterMs: tenths * 100, ...task };
    const [file = '', ...args] = through([process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT, report, JSON.stringify(full)]);
    const child = spawn(file, args, { env: { ...env, [MARK]: mark }, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#started.push(child);
    const chunks: Buffer[] = [];
    let complaints = '';
    if (reads) child.stdout.on('data', (bytes: Buffer) => chunks.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => {
      complaints += bytes.toString();
    });
    child.stdin.on('error', () => {});
    const exit = once(child, 'exit');
    const lines = (): Line[] =>
      readFileSync(report, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Line);
    const stdout = (): string => Buffer.concat(chunks).toString();
    return {
      process: child,
      folder,
      stdout,
      bytes: () => Buffer.concat(chunks),
      stderr: () => complaints,
      lines,
      said: () => lines().flatMap(({ said }) => (typeof said === 'string' ? [said] : [])),
      pid: () => until(() => lines().find((line) => 'starting' in line)?.starting as number | undefined, 'the wrapper begins'),
      async ended() {
        await exit;
        const end = lines().find((line) => 'end' in line);
        if (end === undefined) throw new Error(`it ended (${child.exitCode ?? child.signalCode}) without a word: ${complaints}`);
        return end as Line & { end: Line };
      },
      alive: () => processesWith('environ', `${MARK}=${mark}`).filter(({ pid }) => pid !== child.pid),
      watchers: () => processesWith('cmdline', String(tenths)),
      hears: async (text) => void (await until(() => stdout().includes(text), `${text} on stdout: ${stdout().slice(-500)}${complaints}`)),
    };
  }

  /** Only what bears one of our marks. */
  clean(): void {
    for (const child of this.#started.splice(0)) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    for (const mark of this.#marks.splice(0)) {
      for (const { pid } of processesWith('environ', `${MARK}=${mark}`)) if (pid !== process.pid) tryKill(pid);
    }
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}

function tryKill(pid: number): void {
  try {
    sendSignal(pid, 'SIGKILL');
  } catch {
    // Gone in between.
  }
}

/** A command of the shell. */
export const shell = (script: string, ...args: string[]): Pick<Task, 'command' | 'args'> =>
  ({ command: 'sh', args: ['-c', script, 'sh', ...args] }) as never;
