/**
 * The command starts behind a gate: a shell that turns into it when it is told to, and ends when we die before.
 *
 * @module
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import type { Writable } from 'node:stream';

export const SHELL = '/bin/sh';

const WAIT = 'IFS= read -r _ <&3 || exit 125; exec 3<&-; exec "$@"';
const FD = 3;

/** It runs nothing before {@link openGate}. */
export function spawnAtGate(
  shell: string,
  command: string,
  args: readonly string[],
  options: SpawnOptions & { stdio: readonly ('inherit' | 'pipe')[] },
): ChildProcess {
  const child = spawn(shell, ['-c', WAIT, 'sh', command, ...args], { ...options, stdio: [...options.stdio, 'pipe'] });
  // Closed without a word when somebody kills the shell at the gate: the exit says it.
  gateOf(child)?.on('error', () => {});
  return child;
}

export function openGate(child: ChildProcess): void {
  const gate = gateOf(child);
  gate?.write('\n', () => gate.destroy());
}

const gateOf = (child: ChildProcess): Writable | undefined => child.stdio[FD] as Writable | undefined;

// dash keeps no variable with another name: `INPUT_MY-NAME`, `npm_config_//registry/:_auth`. bash does.
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const BASH = '/bin/bash';
// And a shell gives these values of its own, drops them, or takes them for orders.
const SHELLS_OWN = /^(?:IFS|PPID|OPTIND|OPTERR|PS[124]|LINENO|S?RANDOM|SECONDS|EPOCH\w+|E?UID|GROUPS|DIRSTACK|FUNCNAME|SHELLOPTS|BASH.*)$/;

/**
 * The shell through which the command gets exactly its environment and its name, if there is one. A shell may *add* (`PWD`, and where it is not dash `SHLVL` and
 * `OLDPWD`), and `_` belongs to whichever came last; it must change and drop nothing.
 */
export function shellFor(command: string, env: NodeJS.ProcessEnv): string | undefined {
  const names = Object.keys(env);
  if (command.startsWith('-')) return undefined; // an option of `exec`, where `sh` is bash
  if (names.some((name) => SHELLS_OWN.test(name)) || !isHere(env.PWD)) return undefined;
  if (names.every((name) => SHELL_NAME.test(name))) return SHELL;
  return existsSync(BASH) ? BASH : undefined;
}

/** A shell puts a `PWD` right that is not the folder it is in. */
function isHere(folder: string | undefined): boolean {
  if (folder === undefined) return true;
  try {
    if (folder === process.cwd()) return true;
    const [said, here] = [statSync(folder), statSync('.')];
    return folder.startsWith('/') && !/\/\.{0,2}(?:\/|$)/.test(folder) && said.ino === here.ino && said.dev === here.dev;
  } catch {
    return false;
  }
}
