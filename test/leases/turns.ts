/**
 * Processes that take turns under one lease of a provider, and are killed and stopped at chosen and at random moments.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startWorker, type WorkerProcess } from '../../scripts/demo/calls.ts';
import { callsOf, only } from '../history/calls.ts';
import { hostMs, of } from '../history/format.ts';
import { fileHistory, type History, readHistory } from '../history/log.ts';
import { byLength, LONG } from '../support/long.ts';
import { judge, type Verdict } from './judge.ts';
import { memoryFolder } from './memory-folder.ts';
import { openLeases, type Place } from './places.ts';
import { type Doom, POINTS, type Turns } from './turns-task.ts';

interface Sizes {
  readonly processes: number;
  /** Of each. */
  readonly turns: number;
  /** Which of the numbers of kills, stops and strikes. */
  readonly at: 0 | 1;
}
const SHORT: Sizes = { processes: 4, turns: 25, at: 0 };
const IN_CI: Sizes = { processes: 8, turns: 50, at: 1 };
const LONGEST: Sizes = { processes: 8, turns: 200, at: 1 };
const sizesOf = ({ inCi = 'long' }: Ordeal) => byLength(SHORT, inCi === 'long' ? IN_CI : SHORT, LONGEST);
const SCRIPT = new URL('turns-worker.ts', import.meta.url).href;
const LIMIT_MS = LONG ? 600_000 : 120_000;
/** What a grant takes on a busy machine, beyond the time after which it is due. */
const BUSY_MS = 8_000;

export interface Ordeal {
  readonly provider: string;
  start(): Promise<{ place: Place; stop(): Promise<void> }>;
  readonly leaseMs: number;
  /** From the end of a lease to the moment from which the provider gives it to another, at most. */
  readonly lapseMs: number;
  readonly pollMs: number;
  readonly lateEvery: number;
  readonly adds: boolean;
  /** By themselves, in the middle of a turn: so many in the short version, so many in the long one. */
  readonly kills: readonly [short: number, long: number];
  readonly stops: readonly [short: number, long: number];
  /** A second form of one provider may stay short in CI. Default long. */
  readonly inCi?: 'long' | 'short';
  /** From outside, whatever the process is doing. */
  readonly strikes: readonly [short: number, long: number];
}

/** Kills and stops fall into turns of the first two thirds, each process has its share, and every point of a turn comes up. */
function doomsOf(ordeal: Ordeal): Doom[][] {
  const { processes, turns, at } = sizesOf(ordeal);
  const shuffled = [...POINTS].sort(() => Math.random() - 0.5);
  const all = (['SIGKILL', 'SIGSTOP'] as const).flatMap((what) =>
    Array.from({ length: (what === 'SIGKILL' ? ordeal.kills : ordeal.stops)[at] }, (_, n) => ({
      what,
      point: shuffled[n % POINTS.length] ?? 'work',
    })),
  );
  return Array.from({ length: processes }, (_, process) => {
    const own = all.filter((_doom, n) => n % processes === process);
    const first = own.map((_doom, n) => 1 + Math.floor(((n + Math.random()) * turns * 2) / (3 * own.length)));
    return own.map((doom, n) => ({ ...doom, turn: first[n] ?? 1 }));
  });
}

class Course {
  readonly #task: Omit<Turns, 'count' | 'dooms'>;
  readonly #place: Place;
  readonly #stopMs: number;
  readonly #seats: { left: number; dooms: Doom[]; worker: WorkerProcess | undefined; done: boolean }[];
  readonly #all: WorkerProcess[] = [];
  readonly #history: History;
  readonly #struck = new Set<number>();
  readonly #selfKilled = new Set<number>();

  constructor(place: Place, task: Omit<Turns, 'count' | 'dooms'>, dooms: Doom[][], turns: number, stopMs: number) {
    this.#place = place;
    this.#task = task;
    this.#history = fileHistory(task.history);
    this.#stopMs = stopMs;
    this.#seats = dooms.map((own) => ({ left: turns, dooms: own, worker: undefined, done: false }));
  }

  get kills(): number {
    return this.#struck.size + this.#selfKilled.size;
  }

  async run(strikes: number): Promise<void> {
    const struck = new AbortController();
    const striking = this.#strike(strikes, struck.signal);
    try {
      await Promise.all([...this.#seats.keys()].map((n) => this.#seat(n)));
    } finally {
      struck.abort();
      await striking;
      await Promise.all(this.#all.map((worker) => worker.kill()));
      this.#history.close();
    }
  }

  /** One process after the other, until all turns are taken. */
  async #seat(n: number): Promise<void> {
    const seat = this.#seats[n];
    while (seat !== undefined && seat.left > 0) {
      const worker = await startWorker(SCRIPT, { PLACE: JSON.stringify(this.#place) });
      this.#all.push(worker);
      seat.worker = worker;
      const over = new AbortController();
      const waking = this.#wake(worker, over.signal);
      const failure = await worker.call('turns', { ...this.#task, count: seat.left, dooms: seat.dooms }).then(
        () => undefined,
        (error: Error) => error,
      );
      over.abort();
      await waking;
      const events = this.#history.events().filter(({ caller }) => caller === String(worker.pid));
      const taken = only(callsOf(events), 'acquire').filter(({ end }) => end === 'ok').length;
      const dead = of(events, 'struck').some(({ signal, point }) => signal === 'SIGKILL' && point !== 'outside');
      if (dead) this.#selfKilled.add(worker.pid);
      if (failure !== undefined && !dead && !this.#struck.has(worker.pid)) throw failure;
      seat.left = failure === undefined ? 0 : seat.left - taken;
      seat.dooms = seat.dooms.map((doom) => ({ ...doom, turn: doom.turn - taken })).filter(({ turn }) => turn > 0);
    }
    if (seat !== undefined) seat.done = true;
  }

  /** Whoever has stopped goes on when its lease is over. More than once: it may not have stopped yet. */
  async #wake(worker: WorkerProcess, over: AbortSignal): Promise<void> {
    for (let woken = 0; !over.aborted; ) {
      await pause(20, undefined, { signal: over }).catch(() => {});
      if (worker.logs.length === woken) continue;
      woken += 1;
      await pause(this.#stopMs, undefined, { signal: over }).catch(() => {});
      worker.resume();
    }
  }

  async #strike(strikes: number, over: AbortSignal): Promise<void> {
    for (let left = strikes; left > 0; ) {
      await pause(300 + Math.random() * 1_200, undefined, { signal: over }).catch(() => {});
      if (over.aborted) return;
      const seat = this.#seats[Math.floor(Math.random() * this.#seats.length)];
      const { worker } = seat ?? {};
      if (worker === undefined || seat?.done || this.#struck.has(worker.pid)) continue;
      left -= 1;
      this.#struck.add(worker.pid);
      this.#history.note({ what: 'struck', caller: String(worker.pid), key: this.#task.name, signal: 'SIGKILL', point: 'outside' });
      await worker.kill();
    }
  }
}

async function endure(ordeal: Ordeal): Promise<Verdict & { kills: number; seconds: number; last: number }> {
  const folder = await mkdtemp(join(memoryFolder(), 'rerunsafe-turns-'));
  const { place, stop } = await ordeal.start();
  const opened = openLeases(place);
  try {
    const history = join(folder, 'history');
    await opened.leases.setUp();
    const { leaseMs, pollMs, lateEvery, adds } = ordeal;
    const startedAtMs = hostMs();
    const task = { name: 'turns', leaseMs, pollMs, lateEvery, adds, history };
    const course = new Course(place, task, doomsOf(ordeal), sizesOf(ordeal).turns, leaseMs + ordeal.lapseMs + 300);
    await course.run(ordeal.strikes[sizesOf(ordeal).at]);
    const { events, torn } = readHistory(history);
    expect(torn.length).toBeLessThanOrEqual(course.kills);
    const verdict = judge(events, { adds, freeWithinMs: leaseMs + ordeal.lapseMs + BUSY_MS });
    return { ...verdict, kills: course.kills, seconds: (hostMs() - startedAtMs) / 1_000, last: await opened.counter.read() };
  } finally {
    opened.close();
    await stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Registers the test, and prints its line of numbers. */
export function turnsSuite(ordeal: Ordeal): void {
  const { processes, turns } = sizesOf(ordeal);
  describe(`${processes} processes that take ${turns} turns each under a lease of ${ordeal.provider}, and are killed and stopped at random`, () => {
    it(
      'I4 I5 I6 I10 hold one after the other, tokens in that order; no write of a stale holder lands, and who was stopped is told',
      async () => {
        const { wrong, acquisitions, kills, killsOfHolders, stops, staleTried, staleLanded, seconds, last } = await endure(ordeal);
        console.info(
          `leases of ${ordeal.provider}: ${acquisitions} acquisitions, ${kills} kills (${killsOfHolders} of a holder), ${stops} stops, ` +
            `${staleTried} stale writes tried, ${staleLanded} landed, ${seconds.toFixed(0)} s`,
        );
        expect(wrong.join('\n')).toBe('');
        expect(staleLanded).toBe(0);
        expect(acquisitions).toBeGreaterThanOrEqual(processes * turns);
        expect(last).toBeGreaterThan(0);
        // Without these the test would have shown nothing.
        expect(killsOfHolders).toBeGreaterThan(0);
        expect(stops).toBeGreaterThan(0);
        expect(staleTried).toBeGreaterThan(0);
      },
      LIMIT_MS,
    );
  });
}
