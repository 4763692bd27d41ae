/**
 * A terminal as a newcomer has it: one shell, in which exports and what runs in the background stay.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { sendSignal } from '../send-signal.ts';

const LIMIT_MS = 180_000;

export interface Terminal {
  /** What it prints, on both streams, until the next prompt. */
  type(text: string): Promise<string>;
  /** With all that it has started. */
  close(): Promise<void>;
}

export function terminal(cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const shell = spawn('bash', ['--noprofile', '--norc'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  shell.stdin?.write('exec 2>&1\n');
  let printed = '';
  shell.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  let prompts = 0;
  return {
    async type(text) {
      const prompt = `prompt-${++prompts}-${process.pid}`;
      printed = '';
      shell.stdin?.write(`${text}\nprintf '\\n%s\\n' ${prompt}\n`);
      const deadline = performance.now() + LIMIT_MS;
      while (!printed.includes(`\n${prompt}\n`)) {
        if (performance.now() > deadline || shell.exitCode !== null) throw new Error(`no prompt after\n${text}\n${printed}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return printed.slice(0, printed.indexOf(`\n${prompt}\n`));
    },
    close: () => ended(shell),
  };
}

async function ended(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.pid === undefined) return;
  const exit = once(shell, 'exit');
  sendSignal(-shell.pid, 'SIGKILL');
  await exit;
}
