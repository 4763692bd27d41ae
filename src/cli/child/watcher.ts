/**
 * A shell that waits for our death: nothing that we start may go on when we are killed with SIGKILL, unguarded and beside the next holder's.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { SHELL } from './gate.ts';

/*
 * Its stdin is a pipe of which we alone have the other end. First line: whom to end. Then a line is goodbye, and the end of the pipe is our death.
 * A group's id is not given to another process while the group has a member; and of an empty one `kill` finds nothing. CONT lets a stopped process hear TERM.
 */
const WATCH = `trap '' TERM INT HUP QUIT USR1 USR2 PIPE
IFS= read -r target || exit 0
IFS= read -r _ && exit 0
kill -s TERM -- "$target" || exit 0
kill -s CONT -- "$target"
left=$1
while [ "$left" -gt 0 ] && kill -s 0 -- "$target"; do sleep 0.1 || sleep 1; left=$((left - 1)); done
kill -s KILL -- "$target"`;

const GOODBYE_MS = 2000;

export interface Watcher {
  /** As for kill(2): a process, or a group as a negative number. */
  watch(target: number): void;
  /** It ends without killing; resolves when it has. */
  goodbye(): Promise<void>;
}

/** Undefined where there is no shell, as in images that hold Node alone. */
export function startWatcher(graceMs: number): Watcher | undefined {
  // A session of its own, or a Ctrl-C would be for it as well; `/`, or it would hold a folder that somebody wants to unmount; nothing of our output, or a
  // reader of that would wait for it.
  const watcher = spawn(SHELL, ['-c', WATCH, 'rerunsafe-watcher', String(Math.ceil(graceMs / 100))], {
    cwd: '/',
    detached: true,
    env: { PATH: [process.env.PATH, '/usr/bin:/bin'].filter(Boolean).join(':') },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => {});
  if (watcher.pid === undefined) return undefined;
  const ended = new Promise((resolve) => watcher.once('exit', resolve));
  const line = watcher.stdin;
  line.on('error', () => {});
  return {
    watch: (target) => line.write(`${target}\n`),
    async goodbye() {
      if (watcher.exitCode !== null || watcher.signalCode !== null) return;
      // Without a target the end of the pipe is enough.
      line.end('\n\n');
      const late = setTimeout(() => watcher.kill('SIGKILL'), GOODBYE_MS);
      await ended;
      clearTimeout(late);
    },
  };
}
