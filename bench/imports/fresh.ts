/**
 * Imports in a process of their own.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './entries.ts';

const run = promisify(execFile);

export interface Import {
  /** Inside the process, around `await import(…)`. */
  readonly importMs: number;
  /** From its start until it has ended. */
  readonly processMs: number;
}

const script = (name: string): string => join(import.meta.dirname, name);

/** One after the other. None: what a process costs that imports nothing. */
export async function importFresh(paths: readonly string[]): Promise<Import> {
  const began = performance.now();
  const { stdout } = await run(process.execPath, [script('timed.mjs'), ...paths], { cwd: ROOT });
  return { importMs: Number(stdout), processMs: performance.now() - began };
}

export interface Loaded {
  /** Files of the package itself. */
  readonly own: number;
  /** Files of each other package. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Of Node: `node:crypto` … */
  readonly builtin: readonly string[];
}

const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/** What an import loads before anything is called. */
export async function loadedBy(path: string): Promise<Loaded> {
  const { stdout } = await run(process.execPath, [script('listed.mjs'), path], { cwd: ROOT });
  const urls = JSON.parse(stdout) as readonly string[];
  const files = urls.filter((url) => url.startsWith('file:'));
  const foreign: Record<string, number> = {};
  for (const url of files) {
    const [, name] = PACKAGE.exec(url) ?? [];
    if (name !== undefined) foreign[name] = (foreign[name] ?? 0) + 1;
  }
  const builtin = [...new Set(urls.filter((url) => url.startsWith('node:')))].sort();
  return { own: files.filter((url) => !PACKAGE.test(url)).length, foreign, builtin };
}
