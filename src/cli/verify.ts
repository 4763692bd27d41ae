/**
 * A shell command that looks whether something holds.
 *
 * @module
 */
import type { ChildProcess } from 'node:child_process';
import { EXIT } from './exit-codes.ts';
import { UsageError } from './usage-error.ts';

export type Verified =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'stopped' };

export interface VerifyOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeLimitMs: number;
  /** Ends the check. */
  readonly signal?: AbortSignal | undefined;
}

/** A killed process that cannot die (a dead network disk) is left behind. */
const DYING_MS = 1_000;
const hasGroups = process.platform !== 'win32';

/**
 * `sh -c`, with nothing to read, and our error stream for both of its outputs. What it started in the background goes on; when its time is over, all of
 * its group are killed.
 *
 * @throws UsageError 78 where there is no `sh` or no such folder, 125 where the system starts nothing now.
 */
export async function verify(command: string, { cwd, env, timeLimitMs, signal }: VerifyOptions): Promise<Verified> {
  const { spawn } = await import('node:child_process');
  if (signal?.aborted) return { kind: 'stopped' };
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 2, 2], detached: hasGroups, windowsHide: true });
  return new Promise<Verified>((resolve, reject) => {
    let killedAs: 'timed-out' | 'stopped' | undefined;
    let dying: NodeJS.Timeout | undefined;
    const kill = (as: 'timed-out' | 'stopped'): void => {
      killedAs ??= as;
      killAll(child);
      dying ??= setTimeout(() => end(() => resolve({ kind: as })), DYING_MS);
    };
    const limit = setTimeout(() => kill('timed-out'), timeLimitMs);
    const stop = (): void => kill('stopped');
    const leave = (): void => killAll(child);
    const end = (settle: () => void): void => {
      clearTimeout(limit);
      clearTimeout(dying);
      signal?.removeEventListener('abort', stop);
      process.off('exit', leave);
      child.unref();
      settle();
    };
    signal?.addEventListener('abort', stop);
    // In a group of its own it would outlive us.
    process.once('exit', leave);
    child.once('error', (error: NodeJS.ErrnoException) => end(() => reject(notStarted(error, cwd))));
    // Not `close`: what runs on in the background is no part of the answer.
    child.once('exit', (code, by) =>
      end(() =>
        resolve(killedAs !== undefined ? { kind: killedAs } : by === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'signalled', signal: by }),
      ),
    );
  });
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (hasGroups) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // All of them are gone.
  }
}

function notStarted(error: NodeJS.ErrnoException, cwd: string): UsageError {
  const isLasting = error.code === 'ENOENT' || error.code === 'EACCES' || error.code === 'ENOTDIR';
  const why = isLasting ? `there is no sh, or no folder ${cwd}` : 'the system starts no process now';
  return new UsageError(`--verify cannot be asked: ${why} (${error.code ?? error.message})`, isLasting ? EXIT.config : EXIT.guard);
}
