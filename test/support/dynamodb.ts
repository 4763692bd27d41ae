/**
 * DynamoDB on this machine: DynamoDB Local (the vendor's own, on Java) and dynalite (a second opinion: it knows neither transactions, nor TTL,
 * nor `ReturnValuesOnConditionCheckFailure`).
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DynamoDBClient, type DynamoDBClientConfig, ListTablesCommand } from '@aws-sdk/client-dynamodb';

const run = promisify(execFile);

const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url));
const VERSION = '2.9.30';
const SHA512 = 'c5379e44bbf311fab2779961ddb1f8734907bd21c79a6843e590ec1c5280439836665e89aa515dbad6908422c7cf1129e91cb5a3b4c1ea7888a17b9002749ec1';
const START_LIMIT_MS = 60_000;

export interface Emulator {
  readonly name: string;
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  /** A new client each time; all of them are destroyed by `stop`. */
  client(config?: DynamoDBClientConfig): DynamoDBClient;
  stop(): Promise<void>;
}

/** Whether DynamoDB Local can run here (Java 17 or later). Under `CI=true` a missing Java is a failure, elsewhere the tests say so in a line. */
export async function javaAvailable(): Promise<boolean> {
  const found = await javaVersion();
  if (found >= 17) return true;
  if (process.env.CI === 'true') throw new Error(javaMissing(found));
  console.warn(`DynamoDB Local is left out: ${javaMissing(found)}`);
  return false;
}

/**
 * Starts DynamoDB Local on a free port of the loopback, in memory, or in `options.folder`, where its tables outlive it. About 2 s; the first time it also
 * fetches 57 MB into `.cache/`.
 */
export async function startDynamoDbLocal(options: { folder?: string } = {}): Promise<Emulator> {
  const found = await javaVersion();
  if (found < 17) throw new Error(javaMissing(found));
  const folder = await fetchOnce();
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const child = startJava(folder, port, options.folder);
    const running = emulator('DynamoDB Local', `http://127.0.0.1:${port}`, () => end(child));
    try {
      await answering(running, child);
      return running;
    } catch (error) {
      await running.stop();
      if (attempt === 3) throw error;
    }
  }
}

/** Starts dynalite in this process, on a free port of the loopback. */
export async function startDynalite(): Promise<Emulator> {
  const dynalite = createRequire(import.meta.url)('dynalite') as (options: object) => Server;
  const server = dynalite({
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening));
  return emulator('dynalite', `http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  });
}

function emulator(name: string, endpoint: string, close: () => Promise<void>): Emulator {
  const clients: DynamoDBClient[] = [];
  let stopped: Promise<void> | undefined;
  return {
    name,
    endpoint,
    client(config = {}) {
      const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
      const client = new DynamoDBClient({
        endpoint,
        region: 'eu-west-1',
        credentials,
        ...config,
      });
      clients.push(client);
      return client;
    },
    stop() {
      for (const client of clients) client.destroy();
      stopped ??= close();
      return stopped;
    },
  };
}

const javaMissing = (found: number): string =>
  `Java 17 or later is needed (${found === 0 ? 'none was found' : `${found} was found`}). Install a JRE, for example: apt-get install openjdk-17-jre-headless`;

/** The major version on the path; 0 where there is none. */
async function javaVersion(): Promise<number> {
  try {
    const { stderr } = await run('java', ['-version']);
    return Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function fetchOnce(): Promise<string> {
  const home = join(CACHE, `dynamodb-local-${VERSION}`);
  if (existsSync(home)) return home;
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, 'dynamodb-local-tmp-'));
  try {
    // Run in `work`, so that npm does not take this repository for the package to pack.
    await run('npm', ['pack', `amplify-dynamodb-simulator@${VERSION}`, '--silent'], { cwd: work, timeout: 300_000 });
    const tarball = join(work, `amplify-dynamodb-simulator-${VERSION}.tgz`);
    const hash = createHash('sha512')
      .update(await readFile(tarball))
      .digest('hex');
    if (hash !== SHA512) throw new Error(`amplify-dynamodb-simulator ${VERSION} has changed: its SHA-512 is ${hash}.`);
    await run('tar', ['-xzf', tarball, '-C', work, 'package/emulator']);
    // Several processes may fetch at once: whoever renames first wins, all the others find the folder taken and use it.
    await rename(join(work, 'package/emulator'), home).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    return home;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

// The shell waits on our end of a pipe and ends Java when that closes, so that a test run that is killed leaves nothing behind.
const SUPERVISE = 'exec 3<&0; java "$@" 3<&- & java=$!; { read -r _ <&3; kill "$java"; } & wait "$java"';

function startJava(folder: string, port: number, kept: string | undefined): ChildProcess {
  const jvm = ['-Xmx384m', '-XX:TieredStopAtLevel=1', `-Djava.library.path=${join(folder, 'DynamoDBLocal_lib')}`];
  const local = [
    '-jar',
    'DynamoDBLocal.jar',
    ...(kept === undefined ? ['-inMemory'] : ['-dbPath', kept]),
    '-disableTelemetry',
    '-port',
    String(port),
  ];
  return spawn('sh', ['-c', SUPERVISE, 'sh', ...jvm, ...local], {
    cwd: folder,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
}

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await exited;
}

async function answering(running: Emulator, child: ChildProcess): Promise<void> {
  const probe = running.client({ maxAttempts: 1 });
  const deadline = performance.now() + START_LIMIT_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`DynamoDB Local ended at once, with exit code ${child.exitCode}.`);
    const answered = await probe.send(new ListTablesCommand({})).catch(() => undefined);
    if (answered !== undefined) return;
    await pause(100);
  }
  throw new Error(`DynamoDB Local did not answer within ${START_LIMIT_MS} ms.`);
}

/** Below the range from which the kernel gives ports to outgoing connections: one of those could take it before Java, which needs seconds, does. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)));
    if (!free) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}
