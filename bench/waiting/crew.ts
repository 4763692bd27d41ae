/**
 * Worker processes, as the one who measures sees them.
 *
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Place } from '../measure/counted-stores.ts';
import type { Answers } from './duplicates.ts';
import type { Order, Report } from './worker.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Crew {
  /** So many duplicates, the same number in each process. */
  wait(key: string, count: number): Promise<readonly Answers[]>;
  stop(): Promise<void>;
}

export async function crew(place: Place, processes: number): Promise<Crew> {
  const children = Array.from({ length: processes }, () => fork(SCRIPT));
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(end));
  };
  try {
    await Promise.all(children.map((child) => asked(child, { place })));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    wait: (key, count) => Promise.all(children.map(async (child) => (await asked(child, { key, count: Math.ceil(count / processes) })) as Answers)),
    stop,
  };
}

function asked(child: ChildProcess, order: Order): Promise<Report> {
  return new Promise((resolve, reject) => {
    const failed = (code: number | null): void => reject(new Error(`a worker has ended (${code})`));
    child.once('exit', failed);
    child.once('message', (report) => {
      child.off('exit', failed);
      resolve(report as Report);
    });
    child.send(order);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await exited;
}
