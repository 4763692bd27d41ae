/**
 * A process of its own that takes turns under a lease, and is not careful: it writes whether or not it still holds.
 *
 * @module
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '../../scripts/demo/calls.ts';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Lease, tryAcquire } from '../../src/core/lease.ts';
import { openLeases, type Place } from './places.ts';
import { type Doom, hostMs, type Noted, type Point, type Turns } from './turns-task.ts';

const { leases, counter } = openLeases(JSON.parse(process.env.PLACE ?? '{}') as Place);
const PATIENCE_MS = 2_000;

type Note = Noted extends infer N ? (N extends Noted ? Omit<N, 'pid' | 'token' | 'atMs'> : never) : never;

async function turns(task: Turns): Promise<number> {
  for (let turn = 1; turn <= task.count; turn += 1) {
    const doom = task.dooms.find((one) => one.turn === turn);
    await new Turn(task, await take(task), doom, turn % 4 === 0, turn % task.lateEvery === 0).run();
  }
  return task.count;
}

async function take({ name, leaseMs, pollMs }: Turns): Promise<Lease> {
  for (;;) {
    try {
      const got = await tryAcquire(leases, name, { leaseMs, renew: 'none' });
      if (got.kind === 'acquired') return got.lease;
    } catch (error) {
      // An overloaded emulator, or a process that was stopped in the middle: nothing was handed out.
      if (!isRerunSafeError(error) || !error.retryable) throw error;
    }
    await pause(pollMs * (0.2 + 1.6 * Math.random()));
  }
}

class Turn {
  readonly #task: Turns;
  readonly #lease: Lease;
  readonly #doom: Doom | undefined;
  readonly #renews: boolean;
  #late: boolean;
  #n = 0;

  constructor(task: Turns, lease: Lease, doom: Doom | undefined, renews: boolean, late: boolean) {
    this.#task = task;
    this.#lease = lease;
    this.#doom = doom;
    this.#renews = renews || doom?.point === 'renewal';
    this.#late = late;
  }

  async run(): Promise<void> {
    this.#note({ what: 'in', ...this.#until() });
    await this.#meets('acquired');
    await this.#claim();
    await pause(Math.random() * 3);
    await this.#meets('work');
    if (this.#renews) await this.#renew();
    await this.#write('write');
    await this.#meets('release');
    if (this.#late && this.#doom !== undefined) await this.#write();
    this.#note({ what: 'out' });
    await this.#lease.release();
    if (!this.#late) return;
    await this.#followed();
    await this.#write();
  }

  async #claim(): Promise<void> {
    const sentMs = hostMs();
    await this.#fenced(sentMs, async () => {
      this.#n = await counter.claim(this.#lease.fence);
      this.#note({ what: 'claimed', sentMs });
    });
  }

  async #write(point?: Point): Promise<void> {
    const sentMs = hostMs();
    const n = this.#task.adds ? this.#n + 1 : this.#lease.token;
    const writing = this.#fenced(sentMs, async () => {
      await counter.write(this.#lease.fence, n);
      this.#n = n;
      this.#note({ what: 'wrote', n, sentMs });
    });
    if (point !== undefined) await this.#meets(point);
    await writing;
  }

  async #fenced(sentMs: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isRerunSafeError(error, 'STALE_TOKEN')) throw error;
      this.#note({ what: 'refused', sentMs, storedToken: Number(error.facts.storedToken) });
    }
  }

  async #renew(): Promise<void> {
    const renewing = this.#lease.renew().then(
      () => {
        // A renewal that was answered late renews nothing.
        if (this.#lease.remainingMs() > 0) this.#note({ what: 'held on', ...this.#until() });
      },
      (error: unknown) => {
        if (!isRerunSafeError(error)) throw error;
      },
    );
    await this.#meets('renewal');
    await renewing;
  }

  async #meets(point: Point): Promise<void> {
    if (this.#doom?.point !== point) return;
    const signal = this.#doom.what;
    // Somewhere in the middle of what is under way.
    if (point === 'renewal' || point === 'write') await pause(Math.random() * 4);
    if (signal === 'SIGSTOP') await new Promise<void>((sent) => process.send?.({ kind: 'log', line: 'stops' }, () => sent()));
    this.#note({ what: 'doomed', point, signal });
    process.kill(process.pid, signal);
    // A signal to oneself may take a moment.
    for (const sinceMs = hostMs(); hostMs() - sinceMs < 50; );
    this.#late = true;
    const held = this.#asserts();
    await pause(1);
    this.#note({ what: 'told', held, aborted: this.#lease.signal.aborted });
  }

  #asserts(): string {
    try {
      this.#lease.assertHeld();
      return 'held';
    } catch (error) {
      return isRerunSafeError(error) ? error.code : String(error);
    }
  }

  /** Until a successor has written: a number only grows. Where all others are done it follows itself. */
  async #followed(): Promise<void> {
    const mine = this.#task.adds ? this.#n : this.#lease.token;
    for (const endsAtMs = hostMs() + PATIENCE_MS; hostMs() < endsAtMs; await pause(this.#task.pollMs)) {
      if ((await counter.read().catch(() => 0)) > mine) return;
    }
    await new Turn(this.#task, await take(this.#task), undefined, false, false).run();
  }

  #until = (): { untilMs: number } => ({ untilMs: hostMs() + this.#lease.remainingMs() });

  #note(note: Note): void {
    const line = { pid: process.pid, token: this.#lease.token, atMs: hostMs(), ...note };
    appendFileSync(join(this.#task.history, `${process.pid}.jsonl`), `${JSON.stringify(line)}\n`);
  }
}

serve({ setUp: () => leases.setUp(), turns });
