/**
 * Ends what a process has started when that process ends, however it does: a frozen child hears neither a closed pipe nor SIGTERM.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';

const running = new Set<ChildProcess>();
let shell: ChildProcess | undefined;

/** Keeps the last list that it was told; it is told no more when its input ends. */
const SCRIPT = 'while read -r line; do pids=$line; done; if [ -n "$pids" ]; then kill -9 $pids; fi';

/** From now until it exits. */
export function reap(child: ChildProcess): void {
  if (shell === undefined) {
    // In a group of its own: it must outlive a signal that is meant for all.
    shell = spawn('sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    shell.stdin?.on('error', () => {});
    shell.unref();
    (shell.stdin as { unref?(): void } | null)?.unref?.();
  }
  running.add(child);
  tell();
  child.once('exit', () => {
    running.delete(child);
    tell();
  });
}

const tell = (): void => void shell?.stdin?.write(`${[...running].map(({ pid }) => pid ?? '').join(' ')}\n`);
