/**
 * PgBouncer before a PostgreSQL of ours, in transaction mode, on a free port of the loopback.
 *
 * @module
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';

const START_LIMIT_MS = 30_000;

/** Whether it is on the path. Under `CI=true` its lack is a failure. */
export function pgbouncerAvailable(): boolean {
  if (spawnSync('pgbouncer', ['--version']).status === 0) return true;
  if (process.env.CI === 'true') throw new Error('there is no pgbouncer on the path');
  return false;
}

export interface Pgbouncer {
  /** Of the same database, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** `poolSize`: connections to the server, for all clients together. `folder`: for its settings. */
export async function startPgbouncer(serverUrl: string, poolSize: number, folder: string): Promise<Pgbouncer> {
  const to = new URL(serverUrl);
  const port = await freePort();
  const settings = join(folder, 'pgbouncer.ini');
  await writeFile(
    settings,
    `[databases]
* = host=${to.hostname} port=${to.port} user=${to.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 1000
`,
  );
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', [...user, '-q', settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  const killNow = (): boolean => child.kill('SIGKILL');
  process.once('exit', killNow);
  child.once('exit', () => process.removeListener('exit', killNow));
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  for (const endsAtMs = performance.now() + START_LIMIT_MS; !(await answers(port)); await pause(20)) {
    if (child.exitCode !== null || performance.now() > endsAtMs) throw new Error(`PgBouncer did not start. It printed:\n${printed}`);
  }
  to.port = String(port);
  return {
    url: to.href,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answered: boolean) => () => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', end(true)).once('error', end(false));
  });
}
