/**
 * Redis on this machine: a `redis-server` of this test file's own, on a free port of the loopback, in a folder of its own. About 50 ms to start.
 *
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends it, whatever state it is in, and removes its files. */
  stop(): Promise<void>;
  /** SIGKILL: nothing is saved that is not on the disk yet. */
  kill(): Promise<void>;
  /** After a kill: the same files on the same port. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open, and nobody answers. */
  pause(): void;
  resume(): void;
}

export interface RedisOptions {
  /** Every write is on the disk before it is answered. Default: nothing is ever saved. */
  readonly appendOnly?: boolean;
  /** Of `redis.conf`: `{ maxmemory: '10mb' }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

const START_LIMIT_MS = 30_000;

/** Whether there is a `redis-server` on the path. Under `CI=true` its lack is a failure, elsewhere the tests say so in a line. */
export function redisAvailable(): boolean {
  if (spawnSync('redis-server', ['--version']).status === 0) return true;
  const missing = 'there is no redis-server on the path';
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`Redis is left out: ${missing}.`);
  return false;
}

/** @example const redis = await startRedis({ appendOnly: true }); */
export async function startRedis({ appendOnly = false, settings = {} }: RedisOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-redis-'));
  // No rewriting: the process that does it would outlive a kill, and its files the folder.
  const given = { save: '', appendonly: appendOnly ? 'yes' : 'no', appendfsync: 'always', 'auto-aof-rewrite-percentage': 0, ...settings };
  const flags = Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
  let running: Running | undefined;
  let port = 0;
  const start = async (at?: number): Promise<void> => {
    for (let attempt = 1; running === undefined; attempt++) {
      port = at ?? (await freePort());
      try {
        running = await listening(folder, port, flags);
      } catch (error) {
        if (attempt === 3) throw error;
      }
    }
  };
  const end = async (files: 'kept' | 'gone'): Promise<void> => {
    const ending = running;
    running = undefined;
    await ending?.end(files);
  };
  try {
    await start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => end('kept'),
    restart: () => start(port),
    pause: () => void running?.child.kill('SIGSTOP'),
    resume: () => void running?.child.kill('SIGCONT'),
    async stop() {
      await end('gone');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Running {
  readonly child: ChildProcess;
  end(files: 'kept' | 'gone'): Promise<void>;
}

// Waits on our end of a pipe for a word. When it closes without one, the test run was killed: no server, also no stopped one, and none of its files may
// stay.
const WATCH = 'read -r word; [ "$word" = kept ] && exit; [ "$word" = gone ] || { kill -KILL "$1" 2>/dev/null; sleep 0.1; }; rm -rf "$2"';

async function listening(folder: string, port: number, flags: readonly string[]): Promise<Running> {
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-20_000);
    });
  }
  const failed = once(child, 'error').then(([error]) => String(error));
  const watch = spawn('sh', ['-c', WATCH, 'sh', String(child.pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] });
  watch.stdin?.on('error', () => {});
  const running: Running = {
    child,
    async end(files) {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
      const watched = watch.exitCode === null && watch.signalCode === null ? once(watch, 'exit') : undefined;
      watch.stdin?.end(`${files}\n`);
      await watched;
    },
  };
  const deadline = performance.now() + START_LIMIT_MS;
  while (performance.now() < deadline && child.exitCode === null && child.pid !== undefined) {
    if (await answersPing(port)) return running;
    await pause(20);
  }
  await running.end('kept');
  throw new Error(`Redis did not start${child.pid === undefined ? ` (${await failed})` : ''}. It printed:\n${printed}`);
}

/** Also says no while it still loads what it had saved. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (reply) => {
      socket.destroy();
      // Where a password is wanted, that is an answer too.
      resolve(/^(\+PONG|-NOAUTH|-DENIED)/.test(reply.toString()));
    });
    socket.once('error', () => socket.destroy());
    socket.once('close', () => resolve(false));
  });
}
