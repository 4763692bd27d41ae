/**
 * Workers that are killed, and what they leave behind.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { isLapsed } from '../../src/core/record.ts';
import { until } from '../support/promises-case.ts';
import { type KillPlace, type KillTask, OPERATION } from './kill-task.ts';

const SCRIPT = fileURLToPath(new URL('kill-worker.ts', import.meta.url));

export interface KillWorker {
  /** Resolves when it has said that; fails when it ends before. */
  said(what: string): Promise<void>;
  /** The signal or exit code that it ended with. */
  ended(): Promise<string | number>;
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();

export function startWorker(place: KillPlace, task: KillTask): KillWorker {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify([place, task])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const heard = new Set<string>();
  createInterface({ input: child.stdout }).on('line', (line) => heard.add(line));
  const exited = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    return (signal ?? code) as string | number;
  });
  return {
    said: (what) =>
      until(`the worker says ${what} (${complaints})`, () => {
        if (heard.has(what)) return true;
        if (!running.has(child)) throw new Error(`the worker has ended: ${complaints}`);
        return false;
      }),
    ended: () => exited,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export async function endAll(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }),
  );
}

export const idOf = (key: string): string => recordId(OPERATION, [], keyParts(key));

export const isFree = (store: RecordStore, key: string): Promise<void> =>
  until('the lease of who was killed has run out', async () => {
    const standing = await store.read(idOf(key));
    return standing === undefined || standing.record.state !== 'running' || isLapsed(standing.record, standing.ageMs, store.clock.uncertaintyMs);
  });
