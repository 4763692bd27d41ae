/**
 * Servers as child processes that leave nothing behind, also when the test run is killed outright.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type User = { readonly uid: number; readonly gid: number } | undefined;

// The shell waits on our end of a pipe. When that closes, the test run has ended or was killed: nothing that it started, and none of its files, may stay.
const SUPERVISE = `exec 3<&0; folder=$1; with=$2; shift 2
"$@" 3<&- & server=$!
{ read -r _ <&3; trap '' TERM; kill -"$with" "$server"; while kill -0 "$server"; do sleep 0.1; done; rm -rf "$folder"; } 2>/dev/null & watch=$!
wait "$server"; ended=$?; kill "$watch"; exit "$ended"`;

export interface Command {
  /** Its own, removed with it. */
  readonly folder: string;
  /** What ends it, with everything it has started. */
  readonly endedBy: 'QUIT' | 'KILL';
  readonly user: User;
}

/** The process is the shell around the server, and ends with it. What the server prints on stderr is to be read. */
export function supervised(command: readonly string[], { folder, endedBy, user }: Command): ChildProcess {
  const child = spawn('sh', ['-c', SUPERVISE, 'sh', folder, endedBy, ...command], { ...user, cwd: folder, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin?.on('error', () => {});
  return child;
}

/** PostgreSQL and PgBouncer refuse to run as root. */
export async function unprivileged(): Promise<User> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (what) => Number((await run('id', [what, 'nobody'])).stdout)));
  return { uid: Number(uid), gid: Number(gid) };
}
