/**
 * The processes of a command: its group, or in the foreground the process alone.
 *
 * @module
 */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Group {
  /** As for kill(2): negative for a group. */
  readonly target: number;
  signal(signal: NodeJS.Signals): void;
  /** Whether one of them still runs. A dead one that nobody has reaped does not. */
  isAlive(): boolean;
}

/** On Windows (untested) there is no group: what the command has started goes on. */
export function groupOf(child: ChildProcess, pid: number, whole: boolean): Group {
  const target = whole ? -pid : pid;
  const leads = (): boolean => child.exitCode === null && child.signalCode === null;
  // Once it was empty, its number may belong to somebody else.
  let gone = false;
  let known: number | undefined;
  const isAlive = (): boolean => {
    if (gone || leads()) return !gone;
    if (!whole) gone = true;
    else if (!answers(target)) gone = true;
    else if (known === undefined || groupIfAlive(known) !== pid) {
      known = memberOf(pid);
      gone = known === undefined;
    }
    return !gone;
  };
  return {
    target,
    isAlive,
    signal(signal) {
      if (!isAlive()) return;
      if (process.platform === 'win32') child.kill(signal);
      else if (whole || leads()) tryKill(target, signal);
    },
  };
}

function tryKill(target: number, signal: NodeJS.Signals | 0): string | undefined {
  try {
    process.kill(target, signal);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

const answers = (target: number): boolean => tryKill(target, 0) !== 'ESRCH';

/**
 * In a container whose first process reaps nobody the dead stay in their group for ever, and kill(2) finds them. Only /proc tells; without it (macOS) every
 * member counts.
 */
function memberOf(group: number): number | undefined {
  if (process.platform !== 'linux') return group;
  return readdirSync('/proc')
    .map(Number)
    .find((pid) => pid > 0 && groupIfAlive(pid) === group);
}

function groupIfAlive(pid: number): number | undefined {
  if (process.platform !== 'linux') return pid;
  try {
    // "pid (name) state parent group ...", and a name may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : Number(group);
  } catch {
    return undefined;
  }
}
