/**
 * A process of its own that takes turns under a lease, and is not careful: it writes whether or not it still holds.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '../../scripts/demo/calls.ts';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Lease, tryAcquire } from '../../src/core/lease.ts';
import { type Ended, hostMs } from '../history/format.ts';
import { fileHistory, type History } from '../history/log.ts';
import { openLeases, type Place } from './places.ts';
import type { Doom, Point, Turns } from './turns-task.ts';

const { leases, counter } = openLeases(JSON.parse(process.env.PLACE ?? '{}') as Place);
const PATIENCE_MS = 2_000;

const caller = String(process.pid);

async function turns(task: Turns): Promise<number> {
  const history = fileHistory(task.history);
  for (let turn = 1; turn <= task.count; turn += 1) {
    const doom = task.dooms.find((one) => one.turn === turn);
    await new Turn(task, history, await take(task, history), doom, turn % 4 === 0, turn % task.lateEvery === 0).run();
  }
  return task.count;
}

async function take({ name, leaseMs, pollMs }: Turns, history: History): Promise<Lease> {
  for (;;) {
    try {
      const got = await tryAcquire(leases, name, { leaseMs, renew: 'none' });
      if (got.kind === 'acquired') return noted(got.lease, name, history);
    } catch (error) {
      // An overloaded emulator, or a process that was stopped in the middle: nothing was handed out.
      if (!isRerunSafeError(error) || !error.retryable) throw error;
    }
    await pause(pollMs * (0.2 + 1.6 * Math.random()));
  }
}

/** Those that were not given it are many, and show nothing. */
function noted(lease: Lease, key: string, history: History): Lease {
  const seen = { caller, key, n: randomUUID() };
  history.note({ what: 'invoke', op: 'acquire', ...seen });
  history.note({ what: 'ok', ...seen, answer: { token: lease.token, untilMs: untilMs(lease) } });
  return lease;
}

type Asked = { readonly op: 'fenced-read' | 'renew' | 'release' } | { readonly op: 'fenced-write'; readonly number: number };

/** By its own clock. */
const untilMs = (lease: Lease): number => hostMs() + lease.remainingMs();

class Turn {
  readonly #task: Turns;
  readonly #history: History;
  readonly #lease: Lease;
  readonly #doom: Doom | undefined;
  readonly #renews: boolean;
  #late: boolean;
  #n = 0;

  constructor(task: Turns, history: History, lease: Lease, doom: Doom | undefined, renews: boolean, late: boolean) {
    this.#task = task;
    this.#history = history;
    this.#lease = lease;
    this.#doom = doom;
    this.#renews = renews || doom?.point === 'renewal';
    this.#late = late;
  }

  async run(): Promise<void> {
    await this.#meets('acquired');
    await this.#claim();
    await pause(Math.random() * 3);
    await this.#meets('work');
    if (this.#renews) await this.#renew();
    await this.#write('write');
    await this.#meets('release');
    if (this.#late && this.#doom !== undefined) await this.#write();
    await this.#call({ op: 'release' }, () => this.#lease.release());
    if (!this.#late) return;
    await this.#followed();
    await this.#write();
  }

  async #claim(): Promise<void> {
    await this.#fenced({ op: 'fenced-read' }, async () => {
      this.#n = await counter.claim(this.#lease.fence);
    });
  }

  async #write(point?: Point): Promise<void> {
    const number = this.#task.adds ? this.#n + 1 : this.#lease.token;
    const writing = this.#fenced({ op: 'fenced-write', number }, async () => {
      await counter.write(this.#lease.fence, number);
      this.#n = number;
    });
    if (point !== undefined) await this.#meets(point);
    await writing;
  }

  async #fenced(asked: Asked, work: () => Promise<void>): Promise<void> {
    try {
      await this.#call(asked, work);
    } catch (error) {
      if (!isRerunSafeError(error, 'STALE_TOKEN')) throw error;
    }
  }

  async #renew(): Promise<void> {
    // A renewal that was answered late renews nothing.
    const ended = (): Ended => {
      const left = this.#lease.remainingMs() > 0;
      return left ? { what: 'ok', answer: { untilMs: untilMs(this.#lease) } } : { what: 'fail', code: 'late' };
    };
    const renewing = this.#call({ op: 'renew' }, () => this.#lease.renew(), ended).catch((error: unknown) => {
      if (!isRerunSafeError(error)) throw error;
    });
    await this.#meets('renewal');
    await renewing;
  }

  async #meets(point: Point): Promise<void> {
    if (this.#doom?.point !== point) return;
    const signal = this.#doom.what;
    // Somewhere in the middle of what is under way.
    if (point === 'renewal' || point === 'write') await pause(Math.random() * 4);
    if (signal === 'SIGSTOP') await new Promise<void>((sent) => process.send?.({ kind: 'log', line: 'stops' }, () => sent()));
    this.#history.note({ what: 'struck', caller, key: this.#task.name, point, signal });
    process.kill(process.pid, signal);
    // A signal to oneself may take a moment.
    for (const sinceMs = hostMs(); hostMs() - sinceMs < 50; );
    this.#late = true;
    const held = this.#asserts();
    await pause(1);
    this.#history.note({ what: 'woke', caller, key: this.#task.name, token: this.#lease.token, held, aborted: this.#lease.signal.aborted });
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
    await new Turn(this.#task, this.#history, await take(this.#task, this.#history), undefined, false, false).run();
  }

  async #call(asked: Asked, call: () => Promise<unknown>, ended: () => Ended = () => ({ what: 'ok', answer: {} })): Promise<void> {
    await this.#history.call({ ...asked, caller, key: this.#task.name, token: this.#lease.token }, call, ended);
  }
}

serve({ setUp: () => leases.setUp(), turns });
