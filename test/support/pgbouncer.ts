/**
 * PgBouncer before a PostgreSQL of the tests, pooling by transaction, on a free port of the loopback. 50 ms to start.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { supervised, unprivileged } from './supervised.ts';

export interface Pgbouncer {
  readonly port: number;
  /** The same database by way of the pooler. */
  through(url: string): string;
  stop(): Promise<void>;
}

export interface PgbouncerOptions {
  readonly targetPort: number;
  /** Connections to the server, for each database. */
  readonly poolSize: number;
  readonly maxClients?: number;
  /** How long a client waits for one of them, s. */
  readonly queryWaitTimeout?: number;
}

const START_LIMIT_MS = 20_000;

/** Debian installs it where only root has a path to. */
const PROGRAMS = ['pgbouncer', '/usr/sbin/pgbouncer'];
const program = (): string | undefined => PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0);

/** Whether there is a `pgbouncer`. Under `CI=true` its lack is a failure, elsewhere the tests say so in a line. */
export function pgbouncerAvailable(): boolean {
  if (program() !== undefined) return true;
  const missing = 'there is no pgbouncer. Install it, for example: apt-get install --no-install-recommends pgbouncer';
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`PgBouncer is left out: ${missing}.`);
  return false;
}

/** Nothing is let through that a transaction pooler cannot keep: startup parameters are refused, prepared statements unknown. */
export async function startPgbouncer({ targetPort, poolSize, maxClients = 1_000, queryWaitTimeout = 60 }: PgbouncerOptions): Promise<Pgbouncer> {
  const found = program();
  if (found === undefined) throw new Error('there is no pgbouncer');
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-pgbouncer-'));
  const port = await freePort();
  const users = join(folder, 'users.txt');
  const settings = join(folder, 'pgbouncer.ini');
  const lines = [
    `[databases]\n* = host=127.0.0.1 port=${targetPort}\n[pgbouncer]`,
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = trust\nauth_file = ${users}`,
    `pool_mode = transaction\ndefault_pool_size = ${poolSize}\nmax_client_conn = ${maxClients}\nquery_wait_timeout = ${queryWaitTimeout}\n`,
  ];
  await writeFile(users, '"postgres" ""\n');
  await writeFile(settings, lines.join('\n'));
  const user = await unprivileged();
  await chmod(folder, 0o755);
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const child = supervised([found, '--quiet', settings], { folder, endedBy: 'KILL', user });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-5_000);
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) {
      const exited = once(child, 'exit');
      child.stdin?.end();
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await listens(port))) {
    if (child.exitCode === null && performance.now() < deadline) await pause(20);
    else {
      await stop();
      throw new Error(`PgBouncer did not start. It printed:\n${printed}`);
    }
  }
  return {
    port,
    through(url) {
      const at = new URL(url);
      at.port = String(port);
      return at.href;
    },
    stop,
  };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
