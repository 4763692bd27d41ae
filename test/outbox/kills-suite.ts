/**
 * Relays that are killed at random while messages keep coming, and a receiver that must not notice.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { RelayTask } from './relay-task.ts';

const SCRIPT = fileURLToPath(new URL('relay-worker.ts', import.meta.url));
const LIMIT_MS = 150_000;
export const LONG = process.env.RERUNSAFE_LONG === '1';

export interface Effect {
  readonly message: string;
  readonly key: string;
  readonly n: number;
}

export interface Ordeal {
  readonly name: string;
  readonly keys: number;
  /** Of each key. */
  readonly messages: number;
  readonly kills: number;
  start(): Promise<{
    readonly task: RelayTask;
    /** One message of each of these keys, in as many transactions as it likes. */
    write(keys: readonly string[], n: number): Promise<void>;
    applied(): Promise<number>;
    /** Repeated ones too. */
    deliveries(): Promise<number>;
    /** Of each key in the order in which they were applied. */
    effects(): Promise<readonly Effect[]>;
    left(): Promise<number>;
    stop(): Promise<void>;
  }>;
}

class Relays {
  readonly #task: RelayTask;
  readonly #running = new Set<ChildProcess>();
  #atWork: ChildProcess | undefined;
  #tell = (): void => {};
  readonly complaints: string[] = [];

  constructor(task: RelayTask) {
    this.#task = task;
  }

  start(): void {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify(this.#task)], { stdio: 'pipe' });
    this.#running.add(child);
    child.stdin.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => this.complaints.push(chunk.toString()));
    child.stdout.on('data', () => {
      this.#atWork = child;
      this.#tell();
    });
    child.once('exit', () => this.#running.delete(child));
  }

  /** Waits until one is at work, kills it a moment later, whatever it is doing then, and starts another. */
  async strike(): Promise<void> {
    while (this.#atWork === undefined || !this.#running.has(this.#atWork)) {
      if (this.#running.size === 0) throw new Error(`all relays have ended: ${this.complaints.join('')}`);
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
      });
    }
    await pause(Math.random() * 100);
    const victim = this.#atWork;
    this.#atWork = undefined;
    await end(victim);
    this.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map(end));
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

export function killsSuite({ name, keys, messages, kills, start }: Ordeal): void {
  const all = keys * messages;
  it(
    `I1 I3 each of ${all} messages over ${keys} keys of ${name} takes effect once, in order, with the relay killed ${kills} times`,
    async () => {
      const { task, write, applied, deliveries, effects, left, stop } = await start();
      const relays = new Relays(task);
      const names = Array.from({ length: keys }, (_, k) => `key ${k}`);
      const startedAtMs = performance.now();
      try {
        relays.start();
        relays.start();
        // A part of them after each kill, so that there is something to do at the next one.
        const striking = { done: 0 };
        for (let n = 0; n < messages; n++) {
          await write(names, n);
          for (; striking.done < ((n + 1) * kills) / messages; striking.done++) await relays.strike();
        }
        while ((await applied()) < all || (await left()) > 0) await pause(50);
        const found = await effects();
        const repeated = (await deliveries()) - all;
        console.info(
          `outbox in ${name}: ${all} messages, ${striking.done} kills, ${repeated} delivered again, ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`,
        );
        expect(striking.done).toBe(kills);
        // Without a second delivery the receiver's inbox would have shown nothing.
        if (LONG) expect(repeated).toBeGreaterThan(0);
        expect(found).toHaveLength(all);
        expect(new Set(found.map(({ message }) => message)).size).toBe(all);
        const inOrder = Array.from({ length: messages }, (_, n) => n);
        for (const key of names) expect(found.filter((effect) => effect.key === key).map(({ n }) => n)).toEqual(inOrder);
      } finally {
        await relays.stop();
        await stop();
      }
    },
    LIMIT_MS,
  );
}
