/**
 * A process that runs many keys at once and dies of SIGKILL by its own hand, when each of them is at the point where it is to be killed, or has ended.
 * For each run that is the same as a kill of its own. Those that are killed at any moment go on, and are killed from outside.
 *
 * @module
 */
import type { RecordStore } from '../../src/core/ports.ts';
import { tryRunOnce } from '../../src/index.ts';
import { openPlace, type Place } from '../crash/place.ts';
import { fileHistory } from '../history/log.ts';
import { endOf, fiveSteps, lastEndOf, OPERATION } from './five-steps.ts';
import { type Phase, type Plan, type Point, STEPS } from './plan.ts';
import type { Task } from './worker-task.ts';

/** So that a kill finds the runs in all their phases. */
const PACE_MS = 30;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const never = new Promise<never>(() => {});

class Stop {
  readonly arrived: Promise<void>;
  readonly point: Point | undefined;
  #arrive = (): void => {};
  #isThere = false;

  constructor(point: Point | undefined) {
    this.point = point;
    this.arrived = new Promise((resolve) => {
      this.#arrive = resolve;
    });
  }

  get step(): string {
    return this.point === undefined ? '' : (STEPS[this.point.step]?.name ?? '');
  }

  async at(step: string, phase: Phase): Promise<void> {
    // Once there it is killed, and only not dead yet.
    this.#isThere ||= this.step === step && this.point?.phase === phase;
    if (!this.#isThere) return;
    this.#arrive();
    await never;
  }
}

/** An answer to a step's write that never comes back: it is kept, and nobody knows. */
const stoppingAt = (store: RecordStore, stop: Stop): RecordStore => ({
  ...store,
  async replace(id, record, version, options) {
    const result = await store.replace(id, record, version, options);
    const step = record.steps?.[stop.step];
    if (result.ok && step !== undefined && 'outcome' in step) await stop.at(stop.step, 'kept');
    return result;
  },
});

const [place, { child, history: path, plans, leaseMs }] = JSON.parse(process.argv[2] ?? '[]') as [Place, Task];
const { store } = openPlace(place);
const history = fileHistory(path);
process.stdin.resume().once('close', () => process.exit(0));

async function runToPoint(plan: Plan, point: Point | undefined): Promise<void> {
  const stop = new Stop(point);
  const work = fiveSteps({ plan, child, history, at: (step, phase) => stop.at(step, phase) });
  const options = { store: stoppingAt(store, stop), operation: OPERATION, key: plan.run, leaseMs, renew: 'none' as const };
  await Promise.race([stop.arrived, endOf({ plan, child, history }, () => tryRunOnce(options, work))]);
}

async function runAtAnyMoment(plan: Plan): Promise<void> {
  const work = fiveSteps({ plan, child, history, at: () => pause(Math.random() * PACE_MS) });
  const options = { store, operation: OPERATION, key: plan.run, leaseMs, onInFlight: { waitMs: 60_000 } };
  await lastEndOf({ plan, child, history }, () => tryRunOnce(options, work));
}

let dies = false;
await Promise.all(
  plans.map((plan) => {
    if (plan.kills === 'any moment') return runAtAnyMoment(plan);
    const point = plan.kills[child - 1];
    dies ||= point !== undefined;
    return runToPoint(plan, point);
  }),
);
if (dies) {
  history.note({ what: 'struck', caller: String(child), key: '', signal: 'SIGKILL', point: 'all are where they are to die' });
  process.kill(process.pid, 'SIGKILL');
}
process.exit(0);
