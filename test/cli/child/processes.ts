/**
 * What runs on this machine, as /proc tells it.
 *
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Process {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
}

/** Undefined for one that is dead, buried or not. */
export function processOf(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : { pid, state, parent: Number(parent), group: Number(group) };
  } catch {
    return undefined;
  }
}

export const allProcesses = (): Process[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .flatMap((pid) => processOf(pid) ?? []);

export const childrenOf = (pid: number): Process[] => allProcesses().filter(({ parent }) => parent === pid);

/** Those that have the word in their environment, or in their arguments. */
export function processesWith(what: 'environ' | 'cmdline', word: string): Process[] {
  return allProcesses().filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/${what}`, 'latin1').split('\0').includes(word);
    } catch {
      return false;
    }
  });
}

/** Polls; fails with the last value when it takes too long. */
export async function until<V>(look: () => V | undefined | false, what: string, withinMs = 10_000): Promise<V> {
  const tillMs = performance.now() + withinMs;
  for (;;) {
    const seen = look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > tillMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}
