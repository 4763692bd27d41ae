/**
 * Killing a process at each point of each life on one store, letting others go on, and judging all of it.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Event } from '../history/format.ts';
import { fileHistory, type History, readHistory } from '../history/log.ts';
import { textOf, type Violation } from '../history/violation.ts';
import { wrongClock } from './faketime.ts';
import { Gate, nameOf, type Point, pointsOf } from './gate.ts';
import { judgeLife } from './judge.ts';
import { live, type Part, rowOf } from './live.ts';
import { type Life, livesOf, type RunLife } from './lives.ts';
import { NO_STORE, type Opened, openPlace, type Place } from './place.ts';
import type { Errand, Task } from './worker-task.ts';
import { Workers } from './workers.ts';

export interface Plan {
  /** As in the commands. */
  readonly store: string;
  readonly place: Place;
  readonly strike: 'SIGKILL' | 'SIGSTOP';
  /** How often each point is met. */
  readonly times: number;
  /** How many lives share a process, and its end. 1: each has a process of its own. */
  readonly together: number;
  readonly leaseMs: number;
  readonly life?: string;
  readonly core?: boolean;
  readonly point?: string;
  /** Wall clocks that are wrong: the victim's, and those of the others, each a process of its own. */
  readonly clocks?: { readonly victim: string; readonly others: readonly string[]; readonly warm: boolean };
  /** Of leases that were stamped hours ahead nobody waits for the end. Default: true. */
  readonly patient?: boolean;
}

export interface Row {
  readonly store: string;
  readonly life: string;
  readonly points: number;
  readonly struck: number;
  /** Points that were to be met, and were not. */
  readonly missed: number;
  readonly violations: readonly Violation[];
}

export interface Shown {
  readonly rows: readonly Row[];
  readonly processes: number;
  readonly seconds: number;
}

interface Victim {
  readonly life: Life;
  readonly point: Point;
  readonly key: string;
}

const PATIENT = { waitMs: 60_000, tries: 6 };
const IMPATIENT = { waitMs: 2_000, tries: 1 };
const [LAST, OTHER] = ['the last', 'another input'];

export async function strikeEverywhere(plan: Plan): Promise<Shown> {
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-kills-'));
  const opened = await openPlace(plan.place);
  const { clocks } = plan;
  const workersBy = async (clock: string | undefined): Promise<Workers> =>
    new Workers(plan.place, folder, clock === undefined ? {} : await wrongClock(clock));
  const workers = await workersBy(clocks?.victim);
  const others = await Promise.all((clocks?.others ?? []).map(workersBy));
  try {
    await opened.store.setUp?.();
    await opened.leases(opened.store).setUp?.();
    const stage = new Stage(plan, opened, workers, others, folder);
    return { ...(await stage.play()), seconds: (performance.now() - began) / 1_000 };
  } finally {
    for (const some of [workers, ...others]) await some.endAll();
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  }
}

class Stage {
  readonly #plan: Plan;
  readonly #opened: Opened;
  readonly #workers: Workers;
  readonly #others: readonly Workers[];
  readonly #folder: string;
  readonly #missed = new Map<string, number>();
  /** A store is played on more than once. */
  readonly #tag = randomUUID().slice(0, 8);
  #processes = 0;

  constructor(plan: Plan, opened: Opened, workers: Workers, others: readonly Workers[], folder: string) {
    this.#plan = plan;
    this.#opened = opened;
    this.#workers = workers;
    this.#others = others;
    this.#folder = folder;
  }

  async play(): Promise<Omit<Shown, 'seconds'>> {
    const { store, times, together, life: only, core, point } = this.#plan;
    const records = this.#opened.store !== NO_STORE;
    const parts = records && this.#opened.store.limits.parts !== undefined;
    const lives = livesOf({ records, parts, commits: this.#opened.commit !== undefined }).filter(
      (life) => (only === undefined || life.name === only) && (core !== true || life.core === true),
    );
    const points = await this.#dryRun(lives);
    const victims: Victim[] = Array.from({ length: times }, (_, time) =>
      lives.flatMap((life) =>
        (points.get(life) ?? [])
          .filter((at) => point === undefined || nameOf(at) === point)
          .map((at, n) => ({ life, point: at, key: `${life.name} ${this.#tag}.${time}.${n}` })),
      ),
    ).flat();
    const perProcess = Math.min(together, Math.ceil(victims.length / times));
    const batches = Array.from({ length: Math.ceil(victims.length / perProcess) }, (_, n) => victims.slice(n * perProcess, (n + 1) * perProcess));
    const found = new Map<Life, Violation[]>(lives.map((life) => [life, []]));
    let next = 0;
    // Two processors; and one that waits for a lease to run out uses none.
    const lanes = together === 1 ? 12 : 2;
    const goOn = async (): Promise<void> => {
      for (let n = next++; n < batches.length; n = next++) {
        const violations = await this.#strike(batches[n] as Victim[], n, batches.length - n - 1);
        for (const [victim, some] of violations) found.get(victim.life)?.push(...some);
      }
    };
    await Promise.all(Array.from({ length: lanes }, goOn));
    const rows = lives.map((life): Row => {
      const missed = this.#missed.get(life.name) ?? 0;
      const [ofLife, all] = [points.get(life)?.length ?? 0, victims.filter((victim) => victim.life === life).length];
      return { store, life: life.name, points: ofLife, struck: all - missed, missed, violations: found.get(life) ?? [] };
    });
    return { rows, processes: this.#processes };
  }

  async #dryRun(lives: readonly Life[]): Promise<Map<Life, Point[]>> {
    const path = join(this.#folder, 'dry');
    const history = fileHistory(path);
    const errands = lives.map((life): Errand => ({ life: life.name, key: `dry ${life.name} ${this.#tag}`, caller: 'victim' }));
    await Promise.all(lives.map((life) => this.#comesBefore(life, `dry ${life.name} ${this.#tag}`, history)));
    const worker = await this.#workers.take(1);
    worker.perform({
      history: path,
      leaseMs: Math.max(this.#plan.leaseMs, 3_000),
      errands,
      strike: 'nothing',
      warm: this.#opened.store !== NO_STORE,
      oneByOne: true,
    });
    const calls = (await worker.said())?.calls ?? {};
    await worker.ended;
    history.close();
    return new Map(lives.map((life) => [life, pointsOf(calls[`dry ${life.name} ${this.#tag}`] ?? [])]));
  }

  get #patience(): { waitMs: number; tries: number } {
    return this.#plan.patient === false ? IMPATIENT : PATIENT;
  }

  #part(caller: string, role: Part['role'], key: string, history: History): Part {
    return { opened: this.#opened, history, caller, role, key, leaseMs: this.#plan.leaseMs, gate: new Gate() };
  }

  async #comesBefore(life: Life, key: string, history: History): Promise<void> {
    if (life.kind === 'run' && life.after !== undefined) await live(life, this.#part('the first', 'before it', key, history));
  }

  async #strike(victims: readonly Victim[], n: number, more: number): Promise<(readonly [Victim, Violation[]])[]> {
    const { strike, leaseMs } = this.#plan;
    const path = join(this.#folder, `history-${n}`);
    const history = fileHistory(path);
    await Promise.all(victims.map(({ life, key }) => this.#comesBefore(life, key, history)));
    const worker = await this.#workers.take(more);
    this.#processes += 1;
    const task: Task = {
      ...{ history: path, leaseMs, strike, warm: this.#plan.clocks?.warm === true },
      errands: victims.map(({ life, key, point }) => ({ life: life.name, key, point, caller: 'victim' })),
    };
    worker.perform(task);
    const halted = new Set((await worker.said())?.halted ?? []);
    for (const { life, key } of victims) if (!halted.has(key)) this.#missed.set(life.name, (this.#missed.get(life.name) ?? 0) + 1);
    if (halted.size > 0) await (strike === 'SIGKILL' ? worker.ended : worker.stopped());
    const afterIt = (caller: string, more: Partial<Part> = {}) =>
      Promise.all(victims.map(({ life, key }) => live(life, { ...this.#part(caller, 'after it', key, history), ...more })));
    await afterIt('the second');
    await this.#othersGoOn(victims, path);
    await Promise.all(['the third', 'the fourth'].map((caller) => afterIt(caller, this.#patience)));
    if (strike === 'SIGSTOP') {
      worker.goOn();
      await worker.ended;
    }
    await afterIt(LAST, this.#patience);
    const runs = victims.filter(({ life }) => life.kind === 'run');
    await Promise.all(
      runs.map(({ life, key }) => live(life, { ...this.#part(OTHER, 'after it', key, history), input: 'another', ...this.#patience })),
    );
    history.close();
    return this.#judge(victims, readHistory(path).events);
  }

  /** First at once, one after the other, then all of them, as soon as somebody's lease is over. */
  async #othersGoOn(victims: readonly Victim[], path: string): Promise<void> {
    const { leaseMs, clocks } = this.#plan;
    const goOn = async (workers: Workers, clock: number, when: 'at once' | 'later'): Promise<void> => {
      const worker = await workers.take();
      const caller = `the other ${clocks?.others[clock]}, ${when}`;
      const errands = victims.map(({ life, key }) => ({ life: life.name, key, caller }));
      worker.perform({
        history: path,
        leaseMs,
        errands,
        strike: 'nothing',
        role: 'after it',
        warm: clocks?.warm === true,
        ...(when === 'later' ? this.#patience : {}),
      });
      await worker.ended;
    };
    for (const [clock, workers] of this.#others.entries()) await goOn(workers, clock, 'at once');
    await Promise.all(this.#others.map((workers, clock) => goOn(workers, clock, 'later')));
  }

  async #judge(victims: readonly Victim[], events: readonly Event[]): Promise<(readonly [Victim, Violation[]])[]> {
    const { place, leaseMs } = this.#plan;
    const byKey = new Map<string, Event[]>();
    for (const event of events) byKey.set(event.key, [...(byKey.get(event.key) ?? []), event]);
    return Promise.all(
      victims.map(async (victim) => {
        const { life, key } = victim;
        const own = [...(byKey.get(rowOf(life, key)) ?? []), ...(byKey.get(key) ?? [])].sort((a, b) => a.atMs - b.atMs);
        const uncertaintyMs = this.#opened.store.clock?.uncertaintyMs ?? 0;
        const committed = (life as RunLife).commits === true ? await this.#opened.commit?.times(key) : undefined;
        const terms = {
          life,
          key,
          place: place.kind,
          leaseMs,
          uncertaintyMs,
          last: LAST,
          other: OTHER,
          ...(committed === undefined ? {} : { committed }),
        };
        return [victim, judgeLife(own, terms)] as const;
      }),
    );
  }
}

/** What to show of a failure: what is wrong, and the command that shows it again. */
export const failureOf = (plan: Plan, row: Row): string[] =>
  row.violations.map(
    (violation) =>
      `${textOf(violation)}\n  again: node test/kills/run.ts --store ${row.store} --life '${row.life}'${plan.strike === 'SIGSTOP' ? ' --stop' : ''} --together 1 --times 20`,
  );
