import type { Run } from '../../src/core/run.ts';
import type { Scene } from './scene.ts';

/** Sees from outside what the steps of a run did: what was told as done does not start again, and what starts at most once starts once. */
export class Steps {
  readonly #scene: Scene;
  /** The record neither expires nor vanishes, and no person has it forgotten. */
  readonly #lasting: boolean;
  readonly #values = new Map<string, unknown>();
  /** How many states the row had taken by then. */
  readonly #started = new Map<string, number>();
  readonly #excused = new Set<string>();

  constructor(scene: Scene, lasting: boolean) {
    this.#scene = scene;
    this.#lasting = lasting;
  }

  starts(name: string, step: string, run: Run): void {
    const { shelf } = this.#scene;
    const fail = (reason: string): void => this.#scene.fail(`${reason}: ${name}, ${step}`);
    if (run.remainingMs() <= 0) fail('I6 a step starts on a lease that is over');
    const standing = shelf.standing?.record;
    const isKept = (of: typeof standing): boolean => {
      const kept = of?.steps?.[step];
      return kept !== undefined && 'outcome' in kept;
    };
    if (standing?.owner === run.fence?.owner && isKept(standing)) fail('I3 a step starts that was kept');
    if (!this.#lasting) return;
    if (shelf.history.slice(0, shelf.claimOf(run.fence?.owner)).some(({ record }) => isKept(record)))
      fail('I3 a step starts that an earlier attempt had kept');
    // One who still believes in a lease that is over, by a clock that is wrong, has not heard of it.
    if (this.#values.has(step) && this.#scene.clocksAreRight) fail('I3 a step starts that was told as done');
    const before = this.#started.get(step);
    // A person may have said since that nothing of the run happened.
    const isTaken =
      before !== undefined && !shelf.history.slice(before).some(({ record }) => record?.word !== undefined && record.state === 'released');
    if (step.startsWith('once') && isTaken && !this.#excused.has(step)) fail('I8 a step that starts at most once starts again');
    this.#started.set(step, shelf.history.length);
  }

  /** Somebody has said that nothing of it happened. */
  notDone(step: string): void {
    // By a wrong clock an owner is asked about whose mark is still being confirmed: its answer is true, and does not stay so.
    if (!this.#scene.clocksAreRight) this.#excused.add(step);
    this.#started.delete(step);
  }

  resolved(name: string, step: string, value: unknown): void {
    const before = this.#values.get(step);
    if (this.#lasting && before !== undefined && before !== value)
      this.#scene.fail(`I3 ${step} was told as ${before}, and then as ${value} to ${name}`);
    this.#values.set(step, value);
  }
}
