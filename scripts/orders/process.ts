/**
 * A worker as its parent sees it: handed orders, and killed at any moment, also while one is being handed over.
 *
 * @module
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Receipt } from '../../functions/orders/fulfil.ts';
import type { Order } from '../../functions/orders/shop.ts';

export type Said = 'ready' | { readonly n: number; readonly receipt: Receipt } | { readonly n: number; readonly failure: Failure };

export interface Failure {
  readonly kind: 'failed';
  /** Of an error of ours. */
  readonly code?: string;
}

export interface Handed {
  readonly n: number;
  readonly order: Order;
}

export type Answer = { readonly kind: 'done'; readonly receipt: Receipt } | Failure | { readonly kind: 'killed' };

export interface Process {
  hand(order: Order): Promise<Answer>;
  /** Where it stands, as an overloaded machine does. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
}

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

/** @throws Error where the process ends and nobody has killed it. */
export async function startProcess(env: Readonly<Record<string, string>>): Promise<Process> {
  const child = fork(SCRIPT, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const waiting = new Map<number, (answer: Answer) => void>();
  let complaints = '';
  let count = 0;
  const killNow = (): boolean => child.kill('SIGKILL');
  process.once('exit', killNow);
  // Of an order that was on its way to a process which has died meanwhile.
  child.on('error', () => {});
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', (code, signal) => {
      process.removeListener('exit', killNow);
      for (const answer of waiting.values()) answer({ kind: 'killed' });
      if (signal === 'SIGKILL') resolve();
      else reject(new Error(`A worker has ended by itself (${code ?? signal}). ${complaints}`));
    });
  });
  const ready = new Promise<void>((resolve) => {
    child.on('message', (said: Said) => {
      if (said === 'ready') return resolve();
      waiting.get(said.n)?.('receipt' in said ? { kind: 'done', receipt: said.receipt } : said.failure);
      waiting.delete(said.n);
    });
  });
  await Promise.race([ready, ended]);

  return {
    async hand(order) {
      count += 1;
      const n = count;
      const answered = new Promise<Answer>((resolve) => {
        waiting.set(n, resolve);
      });
      child.send({ n, order } satisfies Handed, () => {});
      const answer = await Promise.race([answered, ended]);
      return answer ?? { kind: 'killed' };
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
