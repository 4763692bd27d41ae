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
import { LONG } from '../support/long.ts';
import type { RelayTask } from './relay-task.ts';

const SCRIPT = fileURLToPath(new URL('relay-worker.ts', import.meta.url));
/** Idle, it takes a tenth of that. */
const LIMIT_MS = 240_000;
/** A strike comes after so many deliveries at most, or so long. */
const MOST_DELIVERIES = 80;
const MOST_WAIT_MS = 500;

export { LONG };

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
  /** Stopped past the lease, and let go when another is at work. */
  readonly stops: number;
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
  readonly #stopped = new Set<ChildProcess>();
  #atWork: ChildProcess | undefined;
  #deliveries = 0;
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
    child.stdout.on('data', (chunk: Buffer) => {
      // What it had said before it was struck.
      if (this.#stopped.has(child) || !this.#running.has(child)) return;
      if (this.#atWork !== child) this.#deliveries = 0;
      this.#atWork = child;
      this.#deliveries += chunk.length;
      for (const other of this.#stopped) {
        if (other === child) continue;
        this.#stopped.delete(other);
        other.kill('SIGCONT');
      }
      this.#tell();
    });
    child.once('exit', () => this.#running.delete(child));
  }

  /** Kills one that is at work, whatever it is doing then, and starts another. */
  async kill(): Promise<void> {
    const victim = await this.#victim();
    this.#running.delete(victim);
    await end(victim);
    this.start();
  }

  async stopOne(): Promise<void> {
    const victim = await this.#victim();
    victim.kill('SIGSTOP');
    this.#stopped.add(victim);
  }

  async #victim(): Promise<ChildProcess> {
    while (this.#atWork === undefined || !this.#running.has(this.#atWork)) {
      if (this.#running.size === 0) throw new Error(`all relays have ended: ${this.complaints.join('')}`);
      await this.#heard();
    }
    const late = performance.now() + MOST_WAIT_MS;
    const enough = Math.random() * MOST_DELIVERIES;
    while (this.#deliveries < enough && performance.now() < late) await Promise.race([this.#heard(), pause(late - performance.now())]);
    await pause(Math.random() * 5);
    const victim = this.#atWork;
    this.#atWork = undefined;
    return victim;
  }

  #heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
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

export function killsSuite({ name, keys, messages, kills, stops, start }: Ordeal): void {
  const all = keys * messages;
  it(
    `I1 I3 each of ${all} messages over ${keys} keys of ${name} takes effect once, in order, with the relay killed ${kills} times and stopped ${stops} times`,
    async () => {
      const { task, write, applied, deliveries, effects, left, stop } = await start();
      const relays = new Relays(task);
      const names = Array.from({ length: keys }, (_, k) => `key ${k}`);
      const startedAtMs = performance.now();
      try {
        relays.start();
        relays.start();
        // Some of them before each strike, so that there is always something to do.
        const halves = [names.slice(0, keys / 2), names.slice(keys / 2)];
        const steps = Array.from({ length: messages }, (_, n) => halves.map((half) => ({ half, n }))).flat();
        const strikes = kills + stops;
        let killed = 0;
        let stopped = 0;
        for (const [at, { half, n }] of steps.entries()) {
          await write(half, n);
          if (killed + stopped >= Math.floor(((at + 1) * strikes) / steps.length)) continue;
          if ((stopped + 1) * strikes <= (killed + stopped + 1) * stops) {
            await relays.stopOne();
            stopped += 1;
          } else {
            await relays.kill();
            killed += 1;
          }
        }
        // One that was stopped last goes on when another finds something to do.
        await write(['the last'], 0);
        while ((await applied()) <= all || (await left()) > 0) await pause(50);
        const found = await effects();
        const repeated = (await deliveries()) - all - 1;
        console.info(
          `outbox in ${name}: ${all} messages, ${killed} kills, ${stopped} stops, ${repeated} delivered again, ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`,
        );
        expect([killed, stopped]).toEqual([kills, stops]);
        // Without a second delivery the receiver's inbox would have shown nothing.
        if (LONG) expect(repeated).toBeGreaterThan(0);
        expect(found).toHaveLength(all + 1);
        expect(new Set(found.map(({ message }) => message)).size).toBe(all + 1);
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
