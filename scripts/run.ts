/**
 * Runs one program of the tool chain to its end.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

export interface Ran {
  readonly ok: boolean;
  readonly output: string;
  readonly tookMs: number;
}

/** The compiler by its path: two versions are installed, and which one owns `.bin/tsc` is npm's choice. */
export const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** `program` is a script for this Node, given by its path. Never throws for a failure of the program. */
export function run(program: string, args: readonly string[], cwd = ROOT): Promise<Ran> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const take = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('close', (code) => resolve({ ok: code === 0, output, tookMs: Math.round(performance.now() - startedMs) }));
  });
}
