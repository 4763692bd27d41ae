/**
 * A worker process as its commander sees it.
 *
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, CallOrder, LockAnswer, Order, Place, Said } from './protocol.ts';

const SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

/** A stopped one hears nothing of its parent's end. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

interface Pending {
  readonly atWork: (again: boolean) => void;
  readonly answer: (answer: Answer | LockAnswer) => void;
}

export interface Call {
  /** Its work has begun and had its effect; was it told that an earlier attempt had begun? Never settles where the work does not begin. */
  readonly atWork: Promise<{ readonly again: boolean }>;
  /** Never settles when the process is killed. */
  readonly answer: Promise<Answer>;
  goOn(by: 'return' | 'throw'): void;
}

export type LockOrder = { readonly do: 'acquire'; readonly leaseMs: number } | { readonly do: 'held' | 'write' | 'extend' | 'release' };

export class Hand {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly ready: Promise<void>;
  #orders = 0;

  constructor(place: Place) {
    const child = fork(SCRIPT, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: ['--disable-warning=ExperimentalWarning'] });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    let complaints = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      complaints = (complaints + chunk.toString()).slice(-4_000);
    });
    child.on('error', () => {});
    child.send(place);
    const { promise, resolve, reject } = withResolvers<void>();
    child.on('exit', (code, signal) => reject(new Error(`worker ${place.who} of ${place.peer} has ended (${code ?? signal}): ${complaints}`)));
    child.on('message', (said: Said) => {
      if (said.say === 'ready') return resolve();
      const pending = this.#pending.get(said.n);
      if (said.say === 'at work') pending?.atWork(said.again);
      else pending?.answer(said.answer);
    });
    promise.catch(() => {});
    this.ready = promise;
  }

  get gone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  call(order: CallOrder): Call {
    const atWork = withResolvers<{ again: boolean }>();
    const n = this.#next({ atWork: (again) => atWork.resolve({ again }), answer: () => {} });
    const answer = this.#send({ do: 'call', n, ...order }, n) as Promise<Answer>;
    return { atWork: atWork.promise, answer, goOn: (by) => void this.#child.send({ do: 'go on', n, by } satisfies Order) };
  }

  /** Of a lock. What the peer throws beyond "not held" is thrown. */
  async lock(name: string, order: LockOrder): Promise<LockAnswer> {
    return this.#lock({ ...order, name });
  }

  /** Stands still in the middle of its code; the answer is what its library said in the next line. */
  stall(name: string, ms: number): Promise<LockAnswer> {
    return this.#lock({ do: 'stall', name, ms });
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.gone) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #next(pending: Pending): number {
    this.#orders += 1;
    this.#pending.set(this.#orders, pending);
    return this.#orders;
  }

  async #lock(order: (LockOrder & { name: string }) | { do: 'stall'; name: string; ms: number }): Promise<LockAnswer> {
    const n = this.#next({ atWork: () => {}, answer: () => {} });
    const answer = (await this.#send({ ...order, n } as Order, n)) as LockAnswer;
    if (answer.why !== undefined) throw new Error(`${order.do}: ${answer.why}`);
    return answer;
  }

  #send(order: Order, n: number): Promise<Answer | LockAnswer> {
    return new Promise((resolve) => {
      const { atWork } = this.#pending.get(n) as Pending;
      this.#pending.set(n, { atWork, answer: resolve });
      this.#child.send(order);
    });
  }
}

function withResolvers<V>(): { promise: Promise<V>; resolve: (value: V) => void; reject: (error: unknown) => void } {
  let resolve: (value: V) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<V>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
