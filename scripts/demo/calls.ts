/**
 * Calls from the demo to its processes, over the channel that Node keeps between parent and child.
 *
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { gate } from '../support/gate.ts';

interface Call {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

type Said =
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'value'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: Failure };

/** What is left of an error after its way through the channel. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

export interface WorkerProcess {
  readonly pid: number;
  /** What the functions have logged, oldest first. */
  readonly logs: readonly string[];
  /** @throws Error whose `cause` is a {@link Failure}, or with none when the process ended meanwhile. */
  call<T>(name: string, input?: unknown): Promise<T>;
  /** Stops the whole process where it stands, as a frozen sandbox or an overloaded machine does. */
  pause(): void;
  resume(): void;
  /** Without warning. */
  kill(): Promise<void>;
}

/** In a worker: answers calls until the parent is gone. */
export function serve(handlers: Readonly<Record<string, (input: never) => Promise<unknown>>>): { log(line: string): void } {
  const say = (said: Said): void => {
    process.send?.(said);
  };
  process.on('disconnect', () => process.exit());
  process.on('message', ({ id, name, input }: Call) => {
    const handler = handlers[name];
    if (handler === undefined) return say({ kind: 'error', id, error: { name: 'Error', message: `no handler for ${name}` } });
    handler(input as never).then(
      (value) => say({ kind: 'value', id, value }),
      (error: unknown) => say({ kind: 'error', id, error: failureOf(error) }),
    );
  });
  say({ kind: 'ready' });
  return { log: (line) => say({ kind: 'log', line }) };
}

function failureOf(error: unknown): Failure {
  const { name, message, code } = error as Partial<Failure>;
  return { name: name ?? 'Error', message: message ?? String(error), ...(typeof code === 'string' ? { code } : {}) };
}

/** Starts a worker and waits until it is ready. `script`: a file beside this one. */
export async function startWorker(script: string, env: Readonly<Record<string, string>>): Promise<WorkerProcess> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const killNow = (): boolean => child.kill('SIGKILL');
  process.once('exit', killNow);
  child.once('exit', () => process.removeListener('exit', killNow));

  const logs: string[] = [];
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const ready = gate();
  let lastId = 0;
  let complained = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    complained += chunk.toString();
  });
  child.on('message', (said: Said) => {
    if (said.kind === 'ready') return ready.open();
    if (said.kind === 'log') return void logs.push(said.line);
    const one = waiting.get(said.id);
    waiting.delete(said.id);
    if (said.kind === 'value') one?.resolve(said.value);
    else one?.reject(new Error(said.error.message, { cause: said.error }));
  });
  child.once('exit', (code, signal) => {
    const ended = new Error(`The process has ended (${code ?? signal}). ${complained}`);
    ready.fail(ended);
    for (const one of waiting.values()) one.reject(ended);
    waiting.clear();
  });
  await ready.opened;

  return {
    pid: child.pid ?? 0,
    logs,
    call<T>(name: string, input?: unknown): Promise<T> {
      if (!child.connected) return Promise.reject(new Error('The process has ended.'));
      const id = ++lastId;
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        // One that has just died is told by its end, not by this.
        child.send({ id, name, input } satisfies Call, () => {});
      });
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
