/**
 * One execution environment: a process from its start to its end, and the invocations that it is given.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { reap } from './reaper.ts';
import { type Answer, RuntimeApi } from './runtime-api.ts';
import { type FunctionSettings, functionArn, processEnv } from './settings.ts';
import type { Failure, Leftovers } from './wire.ts';

const BOOTSTRAP = fileURLToPath(new URL('bootstrap.ts', import.meta.url));
/** The platform's own limit for what a module does when it is loaded. */
const INIT_LIMIT_MS = 10_000;

type Exit = number | NodeJS.Signals;

type Answered = Answer & {
  /** undefined: the process ended after its answer, or others may be at work in it. */
  readonly leftovers: Leftovers | undefined;
};
/** The process ended without an answer, or could not start. */
interface Crash {
  readonly kind: 'crashed';
  readonly errorType: string;
  readonly errorMessage: string;
  readonly exit: Exit;
}
/** Killed at its limit; in a managed instance only the caller is told, and the work goes on. */
interface Timeout {
  readonly kind: 'timeout';
}

export type Invoked = { readonly requestId: string; readonly pid: number } & (Answered | Crash | Timeout);

interface Poll {
  readonly came: Promise<Leftovers | undefined>;
  readonly come: (leftovers: Leftovers | undefined) => void;
}

function awaitPoll(): Poll {
  let come: Poll['come'] = () => {};
  const came = new Promise<Leftovers | undefined>((resolve) => {
    come = resolve;
  });
  return { came, come };
}

export class Environment {
  /** False: it could not start, and has ended. */
  readonly ready: Promise<boolean>;
  readonly #settings: FunctionSettings;
  readonly #api: RuntimeApi;
  readonly #child: ChildProcess;
  readonly #exited: Promise<Exit>;
  readonly #output: string[] = [];
  #poll = awaitPoll();
  #initFailure: Failure | undefined;
  #frozenAtMs: number | undefined;
  #isOver = false;

  private constructor(settings: FunctionSettings, api: RuntimeApi) {
    this.#settings = settings;
    this.#api = api;
    api.onPoll = (leftovers) => this.#poll.come(leftovers);
    api.onInitError = (failure) => {
      this.#initFailure = failure;
    };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BOOTSTRAP], {
      env: processEnv(settings, api.hostAndPort),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => this.#output.push(chunk.toString()));
    reap(child);
    this.#exited = new Promise<Exit>((resolve) => {
      child.once('error', () => resolve(-1));
      child.once('exit', (code, signal) => resolve(code ?? signal ?? -1));
    }).then(async (exit) => {
      this.#isOver = true;
      await api.close();
      return exit;
    });
    this.ready = this.#init();
  }

  static async start(settings: FunctionSettings): Promise<Environment> {
    return new Environment(settings, await RuntimeApi.start());
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What was written to stdout and stderr. */
  get output(): string {
    return this.#output.join('');
  }

  /** `frozenMs`: if it is frozen, it has been so for at least this long. */
  async invoke(event: unknown, timeoutMs: number, frozenMs: number): Promise<Invoked> {
    const facts = { requestId: randomUUID(), pid: this.pid };
    const { requestId } = facts;
    if (!(await this.ready)) return { ...facts, ...this.#crash(requestId, await this.#exited) };
    await this.#thawAfter(frozenMs);
    const isShared = this.#settings.maxConcurrency !== undefined;
    this.#poll = awaitPoll();
    const limit = new AbortController();
    const atLimit = pause(timeoutMs, 'timeout' as const, { signal: limit.signal });
    atLimit.catch(() => {});
    try {
      const deadlineMs = Date.now() + timeoutMs;
      const answered = this.#api.deliver({ requestId, deadlineMs, functionArn: functionArn(), event: JSON.stringify(event) ?? 'null' });
      const first = await Promise.race([answered, atLimit, this.#exited.then((exit) => ({ kind: 'exit', exit }) as const)]);
      if (first === 'timeout') {
        this.#api.forget(requestId);
        if (!isShared) await this.kill();
        return { ...facts, kind: 'timeout' };
      }
      if (first.kind === 'exit') return { ...facts, ...this.#crash(requestId, first.exit) };
      if (isShared) return { ...facts, ...first, leftovers: undefined };
      return { ...facts, ...(await this.#settle(first, atLimit)) };
    } finally {
      limit.abort();
    }
  }

  /** Answered: the platform freezes it as soon as it asks for the next invocation. */
  async #settle(answer: Answer, atLimit: Promise<'timeout'>): Promise<Answered | Crash> {
    const then = await Promise.race([this.#poll.came.then((leftovers) => ({ leftovers })), atLimit, this.#exited]);
    if (typeof then === 'object') {
      this.freeze();
      return { ...answer, ...then };
    }
    if (then === 'timeout') await this.kill();
    else if (answer.kind === 'error') return { kind: 'crashed', errorType: answer.errorType, errorMessage: answer.errorMessage, exit: then };
    return { ...answer, leftovers: undefined };
  }

  freeze(): void {
    this.#frozenAtMs = performance.now();
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#frozenAtMs = undefined;
    this.#child.kill('SIGCONT');
  }

  /** Without warning, as at the limit. */
  async kill(): Promise<Exit> {
    if (!this.#isOver) this.#child.kill('SIGKILL');
    return this.#exited;
  }

  async #init(): Promise<boolean> {
    const limit = new AbortController();
    const atLimit = pause(INIT_LIMIT_MS, false, { signal: limit.signal });
    atLimit.catch(() => {});
    const isReady = await Promise.race([this.#poll.came.then(() => true), this.#exited.then(() => false), atLimit]);
    limit.abort();
    if (!isReady) await this.kill();
    return isReady;
  }

  async #thawAfter(frozenMs: number): Promise<void> {
    if (this.#frozenAtMs === undefined) return;
    const leftMs = this.#frozenAtMs + frozenMs - performance.now();
    if (leftMs > 0) await pause(leftMs);
    this.thaw();
  }

  #crash(requestId: string, exit: Exit): Crash {
    const { errorType, errorMessage } = this.#initFailure ?? {
      errorType: 'Runtime.ExitError',
      errorMessage: `RequestId: ${requestId} Error: Runtime exited with ${typeof exit === 'number' ? `exit status ${exit}` : `signal ${exit}`}`,
    };
    return { kind: 'crashed', errorType, errorMessage, exit };
  }
}
