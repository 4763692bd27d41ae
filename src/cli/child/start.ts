/**
 * The command is started so that in no moment it runs unwatched.
 *
 * @module
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { EXIT } from '../exit-codes.ts';
import type { ChildOptions, NotStarted } from './child.ts';
import { openGate, shellFor, spawnAtGate } from './gate.ts';
import { type Group, groupOf } from './group.ts';
import { graceUnder } from './lease-watch.ts';
import { startWatcher, type Watcher } from './watcher.ts';

export interface Started {
  readonly kind: 'started';
  readonly child: ChildProcess;
  readonly group: Group;
  readonly watcher: Watcher | undefined;
}

const UNWATCHED = 'there is no /bin/sh here: if this guard is killed with SIGKILL, the command goes on without it';

/**
 * Watcher, gate, whom to watch, go: killed between any two of them we leave nothing that runs. An environment that passes through no shell goes without the
 * gate: then the command runs before its watcher knows it, for about a millisecond, on a busy machine for some. Windows (untested) has neither.
 */
export async function start(options: ChildOptions): Promise<Started | NotStarted> {
  const watcher =
    process.platform === 'win32' ? undefined : startWatcher(options.hold.endsWithUs ? 0 : graceUnder(options.hold, options.killAfterMs));
  if (watcher === undefined && process.platform !== 'win32') options.say(UNWATCHED);
  let child: ChildProcess | undefined;
  try {
    const started = spawnCommand(options, watcher !== undefined);
    child = started.child;
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
    const group = groupOf(child, child.pid, !options.foreground && process.platform !== 'win32');
    watcher?.watch(group.target);
    if (started.isGated) openGate(child);
    // A signal that cannot be delivered is no reason to fall.
    child.on('error', () => {});
    return { kind: 'started', child, group, watcher };
  } catch (error) {
    child?.stdout?.destroy();
    child?.stderr?.destroy();
    await watcher?.goodbye();
    return notStarted(options.command, error);
  }
}

function spawnCommand(options: ChildOptions, hasShell: boolean): { child: ChildProcess; isGated: boolean } {
  const env = { ...process.env, ...options.env };
  const output = options.captureBytes === undefined ? 'inherit' : 'pipe';
  const how = { env, detached: !options.foreground, stdio: ['inherit', output, output] } satisfies SpawnOptions;
  const { command, args } = options;
  const shell = hasShell ? shellFor(command, env) : undefined;
  const isGated = shell !== undefined;
  return { isGated, child: isGated ? spawnAtGate(shell, command, args, { ...how, stdio: ['inherit', output, output] }) : spawn(command, args, how) };
}

function notStarted(command: string, error: unknown): NotStarted {
  const { code, message } = error as NodeJS.ErrnoException;
  const exitCode = code === 'ENOENT' ? EXIT.notFound : EXIT.notExecutable;
  return { kind: 'not-started', exitCode, message: `${JSON.stringify(command)} cannot be started: ${message}` };
}
